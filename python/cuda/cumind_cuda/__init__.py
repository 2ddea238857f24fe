"""The CUDA module of cumind, which finds it here. There is nothing to call: `pip install 'cumind[cuda]'`, and `cumind train` uses a GPU."""
