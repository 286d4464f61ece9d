-- Run once by the PostgreSQL image, as its superuser, when its volume is empty. The database `lessons` is there already.
CREATE DATABASE feedback;
CREATE DATABASE vectors;
\connect vectors
CREATE EXTENSION IF NOT EXISTS vector;
