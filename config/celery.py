"""The Celery application: the memory broker and a worker thread here, or Redis and any number of workers."""
