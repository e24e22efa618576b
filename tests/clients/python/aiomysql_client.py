"""aiomysql: a pool, ten tasks at once, a transaction that fails."""

import asyncio

import aiomysql
from place import DATABASE, HOST, PASSWORD, PORT, USER, found


async def add(pool, account):
    async with pool.acquire() as connection, connection.cursor() as cursor:
        for _ in range(10):
            await connection.begin()
            await cursor.execute("UPDATE account SET amount = amount + 1 WHERE id = %s", (account % 3,))
            await connection.commit()


async def main():
    pool = await aiomysql.create_pool(
        host=HOST, port=PORT, user=USER, password=PASSWORD, db=DATABASE, minsize=2, maxsize=6
    )
    async with pool.acquire() as connection, connection.cursor(aiomysql.DictCursor) as cursor:
        await cursor.execute("DROP TABLE IF EXISTS account")
        await cursor.execute("CREATE TABLE account (id INT PRIMARY KEY, amount INT NOT NULL)")
        await cursor.executemany("INSERT INTO account VALUES (%s, %s)", [(n, 0) for n in range(3)])
        await connection.commit()
        await asyncio.gather(*(add(pool, n) for n in range(10)))
        await cursor.execute("SELECT * FROM account ORDER BY id")
        found("rows", await cursor.fetchall())
        await connection.rollback()
        await connection.begin()
        await cursor.execute("UPDATE account SET amount = 0")
        try:
            await cursor.execute("INSERT INTO account VALUES (1, 1)")
        except aiomysql.IntegrityError as error:
            found("refused", error.args[0])
        await connection.rollback()
        await cursor.execute("SELECT SUM(amount) AS total FROM account")
        found("total", await cursor.fetchone())
    async with pool.acquire() as connection, connection.cursor(aiomysql.SSCursor) as cursor:
        await cursor.execute("SELECT a.id, b.amount FROM account a, account b ORDER BY 1, 2")
        found("unbuffered", [row async for row in cursor])
    pool.close()
    await pool.wait_closed()


asyncio.run(main())
