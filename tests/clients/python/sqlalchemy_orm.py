"""SQLAlchemy: reflection of a schema, and an ORM round trip."""

import datetime
import decimal

from place import URL, found
from sqlalchemy import (
    JSON, Boolean, Column, Date, DateTime, Enum, ForeignKey, Index, Integer, MetaData, Numeric, String, Text,
    UniqueConstraint, create_engine, func, inspect, select,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, declarative_base, relationship, selectinload

engine = create_engine(f"mysql+pymysql://{URL}?charset=utf8mb4")
Base = declarative_base()


class Customer(Base):
    __tablename__ = "customer"
    id = Column(Integer, primary_key=True)
    name = Column(String(60), nullable=False, unique=True)
    born = Column(Date)
    notes = Column(JSON)
    orders = relationship("Order", back_populates="customer", cascade="all, delete-orphan")


class Order(Base):
    __tablename__ = "order"
    __table_args__ = (
        UniqueConstraint("customer_id", "number", name="once"),
        Index("by_time", "at", "state"),
        {"mysql_charset": "utf8mb4", "comment": "what was ordered"},
    )
    id = Column(mysql.BIGINT(unsigned=True), primary_key=True)
    customer_id = Column(ForeignKey("customer.id", ondelete="CASCADE", name="of_customer"), nullable=False)
    number = Column(Integer, nullable=False, server_default="7", comment="counts from 1")
    total = Column(Numeric(10, 2))
    at = Column(DateTime)
    state = Column(Enum("new", "paid"))
    is_gift = Column(Boolean)
    text = Column(Text)
    customer = relationship("Customer", back_populates="orders")


Base.metadata.drop_all(engine)
Base.metadata.create_all(engine)
inspector = inspect(engine)
for table in ("customer", "order"):
    for column in inspector.get_columns(table):
        # A column of JSON is text in MariaDB, and an integer's width was given up in MySQL 8.
        if column["name"] != "notes":
            found(table, column["name"], str(column["type"]).split("(")[0] if "INT" in str(column["type"]) else str(column["type"]), column["nullable"], (column["default"] or "").strip("'"), column.get("comment"), column.get("autoincrement"))
    found("primary key", inspector.get_pk_constraint(table))
    found("foreign keys", inspector.get_foreign_keys(table))
    found("unique", inspector.get_unique_constraints(table))
    found("indexes", sorted(inspector.get_indexes(table), key=lambda index: index["name"]))
    found("options", inspector.get_table_comment(table), inspector.get_table_options(table).get("mysql_engine"))
reflected = MetaData()
reflected.reflect(engine, only=["customer", "order"])
found("reflected", sorted(reflected.tables), [c.target_fullname for c in reflected.tables["order"].foreign_keys])

with Session(engine) as session:
    for n in range(5):
        customer = Customer(name=f"c{n} é", born=datetime.date(1970 + n, 1, 2), notes={"n": [n, "x", None]})
        customer.orders = [
            Order(number=k, total=decimal.Decimal(k) / 4, at=datetime.datetime(2024, 1, k + 1, 12), state="new", is_gift=k % 2 == 0)
            for k in range(n)
        ]
        session.add(customer)
    session.commit()
    customers = session.scalars(select(Customer).options(selectinload(Customer.orders)).order_by(Customer.id)).all()
    found("loaded", [(c.name, c.born, c.notes, [(o.number, o.total, o.is_gift) for o in c.orders]) for c in customers])
    grouped = (
        select(Customer.name, func.count(Order.id), func.sum(Order.total)).outerjoin(Order).group_by(Customer.name)
        .having(func.count(Order.id) != 1).order_by(Customer.name)
    )
    found("grouped", [tuple(row) for row in session.execute(grouped)])
    inner = select(func.max(Order.total)).where(Order.customer_id == Customer.id).scalar_subquery()
    found("correlated", [tuple(row) for row in session.execute(select(Customer.id, inner).order_by(Customer.id))])
    named = select(Order.customer_id.label("c"), func.count().label("n")).group_by(Order.customer_id).cte("named")
    found("with", [tuple(row) for row in session.execute(select(named).where(named.c.n > 1).order_by(named.c.c))])
    customers[4].orders.pop()
    customers[3].orders[0].state = "paid"
    session.delete(customers[2])
    session.commit()
    found("left", session.scalar(select(func.count()).select_from(Order)))
    session.add(Customer(name="c1 é"))
    try:
        session.commit()
    except IntegrityError as error:
        found("refused", error.orig.args[0])
        session.rollback()
    upsert = mysql.insert(Customer).values(id=1, name="again")
    session.execute(upsert.on_duplicate_key_update(name=upsert.inserted.name))
    with session.begin_nested() as savepoint:
        session.add(Customer(name="gone"))
        session.flush()
        savepoint.rollback()
    session.commit()
    found("names", session.scalars(select(Customer.name).order_by(Customer.id)).all())
    locked = session.scalars(select(Customer).with_for_update(skip_locked=True).limit(1)).all()
    found("locked", [c.id for c in locked])
