"""One learner on made-up data, for a second or two: hgb, kmeans or lightgbm."""

import sys

import numpy

random = numpy.random.default_rng(7)
rows = random.normal(size=(8000, 20))
labels = (rows[:, 0] + rows[:, 1] ** 2 > 0.7).astype(int)
match sys.argv[1]:
    case "hgb":
        from sklearn.ensemble import HistGradientBoostingClassifier

        HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=0).fit(rows, labels)
    case "kmeans":
        from sklearn.cluster import KMeans

        KMeans(n_clusters=30, n_init=3, max_iter=60, random_state=0).fit(rows)
    case "lightgbm":
        import lightgbm

        lightgbm.train({"objective": "binary", "verbosity": -1}, lightgbm.Dataset(rows, labels), 150)
