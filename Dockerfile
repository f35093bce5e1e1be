FROM python:3.13-slim AS build
WORKDIR /app
RUN python -m venv /tools && /tools/bin/pip install --no-cache-dir uv==0.13.9
COPY pyproject.toml requirements.lock ./
# The lock has the tools of development too; what the product needs is named in pyproject.toml.
RUN python -m venv /venv \
 && /tools/bin/uv pip install --python /venv/bin/python --compile-bytecode --no-cache \
      --requirement pyproject.toml --constraint requirements.lock

FROM python:3.13-slim
RUN useradd --system --create-home planner && install --directory --owner planner /data
COPY --from=build /venv /venv
WORKDIR /app
COPY manage.py pyproject.toml ./
COPY config config
COPY planner planner
COPY frontend frontend
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PLANNER_DATA_DIR=/data
USER planner
VOLUME /data
EXPOSE 8000
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]
