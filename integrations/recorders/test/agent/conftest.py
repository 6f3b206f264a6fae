pytest_plugins = ["cachesim_pytest"]
