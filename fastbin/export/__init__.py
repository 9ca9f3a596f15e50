"""The same bits everywhere: models as SQL, ONNX, C source, Java, JavaScript and JSON."""
