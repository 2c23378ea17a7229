"""Models for other programs: LIBSVM's and LIBLINEAR's files, scikit-learn's machines, ONNX graphs."""
