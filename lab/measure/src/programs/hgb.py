"""scikit-learn's histogram gradient boosting: short OpenMP regions, thousands of them. Prints one line of JSON."""

import json
import time

import numpy
from sklearn.ensemble import HistGradientBoostingClassifier

points = numpy.random.RandomState(0).rand(5000, 20)
labels = (points.sum(1) > 10).astype(int)
HistGradientBoostingClassifier(max_iter=2).fit(points, labels)
began, began_cpu = time.perf_counter(), time.process_time()
HistGradientBoostingClassifier(max_iter=60, early_stopping=False).fit(points, labels)
print(json.dumps({"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - began_cpu}))
