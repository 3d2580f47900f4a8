# One image for web, proxy, worker, beat and the one-shot migration: they differ by command alone.
FROM python:3.11-slim-bookworm

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 STEELYARD_STATE=/var/lib/steelyard
RUN useradd --system --uid 10001 --home-dir /var/lib/steelyard --create-home steelyard
WORKDIR /srv/steelyard
COPY requirements/run.txt requirements/run.txt
RUN pip install --no-cache-dir --require-hashes --requirement requirements/run.txt
COPY . .
RUN python -m compileall -q .
USER steelyard
VOLUME /var/lib/steelyard
EXPOSE 8000 8001
CMD ["granian", "--interface=wsgi", "--host=0.0.0.0", "--port=8000", "--no-ws", "--workers=2", "--blocking-threads=4", "--respawn-failed-workers", "portal.wsgi:application"]
