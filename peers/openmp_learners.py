"""Learners of scikit-learn, LightGBM and XGBoost, and an index of faiss, on small made-up data: prints what they find, digit for digit.

With a number as its argument it fits that often, and prints only the last.
"""
import sys

import faiss
import lightgbm
import numpy
import xgboost
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier

often = int(sys.argv[1]) if len(sys.argv) > 1 else 1
random = numpy.random.default_rng(7)
rows = random.normal(size=(4000, 20))
labels = (rows[:, 0] + rows[:, 1] ** 2 > 0.7).astype(int)
for _ in range(often):
    trees = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(rows, labels)
    means = KMeans(n_clusters=5, n_init=1, random_state=0).fit(rows)
    booster = lightgbm.train({"objective": "binary", "num_threads": 4, "deterministic": True, "verbosity": -1}, lightgbm.Dataset(rows, labels), 10)
    trained = xgboost.train({"objective": "binary:logistic", "nthread": 4, "tree_method": "hist"}, xgboost.DMatrix(rows, labels, nthread=4), 10)
    index = faiss.index_factory(rows.shape[1], "IVF16,Flat")
    index.train(rows.astype("float32"))
    index.add(rows.astype("float32"))
    near = index.search(rows[:50].astype("float32"), 5)[1]
print(trees.predict_proba(rows)[:5, 1].tolist())
print(means.labels_[:20].tolist(), round(float(means.inertia_), 6))
print(booster.predict(rows)[:5].tolist())
print(trained.predict(xgboost.DMatrix(rows[:5])).tolist())
print(near.tolist())
