"""The one door to PostgreSQL: transactions that act for one tenant, retried where that is safe.

The server's role owns nothing and cannot pass over row-level security, so a statement outside of
`Database.transaction` sees no row of anybody. The tenant is a setting of the transaction and ends
with it: a pooled connection keeps nothing of whom it served last.
"""

from __future__ import annotations

import asyncio
import logging
import random
import select
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, LiteralString, TypeVar

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from mapi.database.isolation import POWERS, power_words
from mapi.database.session import SESSION_SETTINGS, as_options, role_settings
from mapi.errors import DatabaseError, StateError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

__all__ = ["Connection", "Database", "Reach", "together"]

Connection = psycopg.AsyncConnection[TupleRow]
_Result = TypeVar("_Result")
_logger: Final = logging.getLogger("mapi.database")

#: How often a transaction that lost a deadlock or a serialisation conflict is run again.
_RETRIES: Final = 6
_RETRY_SECONDS: Final = 0.02
#: How long a request waits for a connection before it is told to come back.
_POOL_SECONDS: Final = 10.0
#: How long it waits before it is asked whether there is a database at all.
_PATIENCE_SECONDS: Final = 1.0
#: The least that libpq takes.
_LOOK_SECONDS: Final = 2
#: How many beginnings of a transaction are kept: each is put together once for whom it is for.
_REACHES: Final = 1024
#: One message: each more is a way there and back.
_BEGIN: Final = sql.SQL(
    "{}; set local mapi.tenant = {}; set local mapi.projects = {}; set local mapi.user_name = {}"
)
_WRITING: Final = sql.SQL("begin")
_SNAPSHOT: Final = sql.SQL("begin isolation level repeatable read read only")


class PooledConnection(psycopg.AsyncConnection[TupleRow]):
    """A connection to a pooler that lends one of the database's for each transaction."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What a transaction may see: one tenant, and all or some of its projects; and for whom it is."""

    tenant_id: int
    project_ids: tuple[int, ...] | None = None
    """``None`` is every project of the tenant."""
    user: str = ""
    """What the log says who wrote; empty is the platform itself."""

    @property
    def projects(self) -> str:
        """The projects as the database's setting spells them."""
        if self.project_ids is None:
            return "*"
        return "{" + ",".join(str(one) for one in self.project_ids) + "}"

    def for_call(self) -> dict[str, str]:
        """Return whom a function acts for that is called by `Database.call`."""
        return {"tenant": str(self.tenant_id), "projects": self.projects, "user": self.user}


class Database:
    """A pool of connections.

    Args:
        url: connects as the role without power.
        connections: how many at most.
        pooled: a transaction pooler stands between: two statements may meet two connections of the
            database, so nothing is prepared, sent ahead, or set for a session. The settings that
            statements need are the role's own, given by `mapi.database.migrate`.
    """

    def __init__(self, url: str, *, connections: int, pooled: bool = False) -> None:
        self._url = url
        self._is_pooled = pooled
        self._looking: asyncio.Task[bool] | None = None
        self._used_seconds = 0.0
        self._pool = AsyncConnectionPool(
            url,
            min_size=1,
            max_size=connections,
            timeout=_POOL_SECONDS,
            open=False,
            kwargs=_options(pooled=pooled),
            connection_class=PooledConnection if pooled else psycopg.AsyncConnection,
            check=_check_quiet,
        )

    async def open(self) -> None:
        """Connect, and refuse to serve with a role that could see every tenant.

        Raises:
            DatabaseError: it cannot be reached, or the role has power.
        """
        try:
            # Not through the pool: it would try for ever, and keep the reason to itself.
            async with await psycopg.AsyncConnection.connect(
                self._url, connect_timeout=int(_POOL_SECONDS), **_options(pooled=self._is_pooled)
            ) as connection:
                await _refuse_unfit(connection)
        except psycopg.Error as error:
            if "unsupported startup parameter" in str(error):
                raise DatabaseError(
                    "A transaction pooler stands before the database of MAPI_DATABASE_URL. Name "
                    "the way past it in MAPI_DATABASE_DIRECT_URL."
                ) from error
            raise DatabaseError(
                f"The database cannot be reached ({error}). Check MAPI_DATABASE_URL, and that it "
                "runs."
            ) from error
        try:
            await self._pool.open(wait=True, timeout=_POOL_SECONDS)
        except BaseException as error:
            # Its tasks would connect on for ever.
            await self._pool.close()
            if not isinstance(error, PoolTimeout):
                raise
            raise DatabaseError(
                f"The database lends no connection within {_POOL_SECONDS:g} s. It, or the pooler "
                "before it, has none free: give it more, or lower MAPI_DATABASE_CONNECTIONS."
            ) from error

    async def close(self) -> None:
        """Let go of every connection."""
        if self._looking is not None:
            await asyncio.gather(self._looking, return_exceptions=True)
        await self._pool.close()

    @asynccontextmanager
    async def transaction(self, reach: Reach) -> AsyncIterator[Connection]:
        """Begin a transaction for one tenant; it commits at the end, or rolls back on an error.

        Raises:
            StateError: what a row refers to was deleted meanwhile.
            UnavailableError: the database does not answer now.
        """
        async with self._connection() as connection:
            # Several statements in one message cannot be prepared. The pool commits or rolls back.
            await connection.execute(_beginning(reach), prepare=False)
            yield connection

    @asynccontextmanager
    async def snapshot(self, reach: Reach) -> AsyncIterator[Connection]:
        """Begin a transaction for one tenant that reads: all its statements see one moment.

        For an answer that several statements make, of rows that retention or compaction may move
        between two of them.

        Raises:
            UnavailableError: the database does not answer now.
        """
        async with self._connection() as connection:
            await connection.execute(_beginning(reach, is_snapshot=True), prepare=False)
            yield connection

    @asynccontextmanager
    async def outside(self) -> AsyncIterator[Connection]:
        """Lend a connection for nobody: it can call the functions that look up whom to act for.

        Each statement is a transaction of its own.

        Raises:
            UnavailableError: the database does not answer now.
        """
        async with self._connection() as connection:
            yield connection

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        with _told_apart():
            connection, since = await self._lend(), time.monotonic()
            try:
                async with connection:
                    yield connection
            finally:
                await self._take_back(connection, since)

    async def _lend(self) -> Connection:
        """Return a connection of the pool; whoever waits long asks whether there is a database.

        The pool tries for ever to reach it, and does not say that it does not.
        """
        try:
            return await self._pool.getconn(_PATIENCE_SECONDS)
        except PoolTimeout:
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(asyncio.to_thread(_is_there, self._url))
            # One look is for all who wait.
            if not await asyncio.shield(self._looking):
                raise UnavailableError(
                    "The database does not answer; try again when it runs."
                ) from None
        return await self._pool.getconn(_POOL_SECONDS - _PATIENCE_SECONDS)

    async def _take_back(self, connection: Connection, since: float) -> None:
        await self._pool.putconn(connection)
        self._used_seconds += time.monotonic() - since

    async def call(
        self, statement: LiteralString, parameters: Mapping[str, Any]
    ) -> TupleRow | None:
        """Return the first row of one statement, which is a transaction of its own: one way there.

        Args:
            statement: calls a function of ours that begins with whom it acts for, as the tenant and
                projects of a reach (see `Reach.for_call`), or one that looks up who that is.
            parameters: its values.

        Raises:
            UnavailableError: the database does not answer now, or others were always faster.
        """

        async def work() -> TupleRow | None:
            with _told_apart():
                connection, since = await self._lend(), time.monotonic()
                try:
                    # Nothing is open behind it, so there is nothing to commit or to take back.
                    cursor = await connection.execute(statement, parameters, binary=True)
                    return await cursor.fetchone()
                finally:
                    await self._take_back(connection, since)

        return await _again_where_it_lost(work)

    async def run(
        self,
        reach: Reach,
        work: Callable[[Connection], Awaitable[_Result]],
    ) -> _Result:
        """Return what ``work`` returns in a transaction of its own, tried again after a deadlock.

        Args:
            reach: whom it acts for.
            work: reads and writes through the connection and nothing else, as it may run again.

        Raises:
            UnavailableError: the database does not answer now, or others were always faster.
        """

        async def once() -> _Result:
            async with self.transaction(reach) as connection:
                return await work(connection)

        return await _again_where_it_lost(once)

    def stats(self) -> dict[str, Any]:
        """Return the pool's own figures."""
        # The pool counts only what it lends for a block.
        return {**self._pool.get_stats(), "usage_ms": int(self._used_seconds * 1_000)}


@asynccontextmanager
async def together(connection: Connection) -> AsyncIterator[None]:
    """Send the statements of a block without waiting for an answer in between.

    A pipeline within another would wait for what was sent before it. Behind a pooler each statement
    waits for its answer: older ones promise nothing of pipelines.
    """
    if connection.pgconn.pipeline_status or isinstance(connection, PooledConnection):
        yield
    else:
        async with connection.pipeline():
            yield


def _options(*, pooled: bool) -> dict[str, Any]:
    """Return how a connection is made."""
    # A transaction begins where we say so, in one message with whom it is for.
    shared: dict[str, Any] = {"autocommit": True, "application_name": "mapi"}
    if pooled:
        return {**shared, "prepare_threshold": None}
    return {**shared, "prepare_threshold": 3, "options": as_options()}


@lru_cache(maxsize=_REACHES)
def _beginning(reach: Reach, *, is_snapshot: bool = False) -> bytes:
    begin = _SNAPSHOT if is_snapshot else _WRITING
    return _BEGIN.format(begin, str(reach.tenant_id), reach.projects, reach.user).as_bytes()


async def _refuse_unfit(connection: Connection) -> None:
    """Refuse a role that could see every tenant, and a pooler whose connections are not set."""
    # The role of the session: whoever it was set to act for, it can act as itself again.
    found = await connection.execute("select session_user::text, current_database()::text")
    name, database = await found.fetchone() or ("?", "?")
    found = await connection.execute(POWERS, [name])
    (powers,) = await found.fetchone() or (["is not known"],)
    if powers:
        raise DatabaseError(power_words(name, powers))
    found = await connection.execute(
        "select name, current_setting(name) from unnest(%s::text[]) as name",
        [list(SESSION_SETTINGS)],
    )
    if dict(await found.fetchall()) != SESSION_SETTINGS:
        statements = "; ".join(one.as_string() for one in role_settings(name, database))
        raise DatabaseError(
            f"The role {name!r} lacks the settings that it needs behind a pooler. Run `mapi "
            "migrate`, then let the pooler connect anew (PgBouncer: RECONNECT). Where `mapi "
            f"migrate` may not change that role, run as who may: {statements}"
        )


@contextmanager
def _told_apart() -> Iterator[None]:
    """Raise what the database or the pool says as errors of ours; lost conflicts as they are."""
    try:
        yield
    except PoolTimeout as error:
        raise UnavailableError("The database has no connection free; try again.") from error
    except errors.ForeignKeyViolation as error:
        # What is referred to is looked up first, so it went in between.
        raise StateError(
            "Something that this belongs to was deleted meanwhile; read it anew."
        ) from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        if isinstance(error, (errors.DeadlockDetected, errors.SerializationFailure)):
            raise
        # Its words name files, functions, hosts and roles: they are for whoever keeps the server.
        _logger.warning("the database does not answer: %s", error)
        raise UnavailableError("The database does not answer; try again.") from error


async def _again_where_it_lost(work: Callable[[], Awaitable[_Result]]) -> _Result:
    for attempt in range(_RETRIES):
        try:
            return await work()
        except (errors.DeadlockDetected, errors.SerializationFailure):
            # At random: two that met would meet again.
            await asyncio.sleep(_RETRY_SECONDS * 2**attempt * random.random())  # noqa: S311 - no secret
    raise UnavailableError(f"Others changed the same rows {_RETRIES} times in a row; try again.")


def _is_there(url: str) -> bool:
    """Say whether a database, or the pooler before it, takes connections."""
    where = make_conninfo(url, connect_timeout=_LOOK_SECONDS)
    return PGconn.ping(where.encode()) == Ping.OK


async def _check_quiet(connection: Connection) -> None:
    """Refuse a connection that the database has closed since it was used.

    An idle one has nothing to read; what can be read may be the end, and only then is it asked: a
    question costs a way there and back, and this stands before every request.
    """
    ready = select.poll()
    ready.register(connection.fileno(), select.POLLIN)
    if ready.poll(0):
        await AsyncConnectionPool.check_connection(connection)
