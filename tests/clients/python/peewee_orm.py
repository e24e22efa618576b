"""peewee: tables, queries, upsert, foreign keys, savepoints, locks, JSON, and what it reads of a schema."""

import datetime
import decimal
import uuid

import peewee
from peewee import fn
from playhouse.migrate import MySQLMigrator, migrate
from playhouse.reflection import Introspector

from place import DATABASE, HOST, PASSWORD, PORT, USER, found

database = peewee.MySQLDatabase(DATABASE, host=HOST, port=PORT, user=USER, password=PASSWORD, charset="utf8mb4")


class Base(peewee.Model):
    class Meta:
        database = database
        legacy_table_names = False


class Person(Base):
    name = peewee.CharField(max_length=60, unique=True)
    born = peewee.DateField(null=True, index=True)
    seen = peewee.DateTimeField(default=datetime.datetime(2024, 2, 29, 12, 30, 1))
    wakes = peewee.TimeField(null=True)
    credit = peewee.DecimalField(max_digits=12, decimal_places=3, default=0)
    weight = peewee.DoubleField(null=True)
    active = peewee.BooleanField(default=True)
    notes = peewee.TextField(default="")
    picture = peewee.BlobField(null=True)
    token = peewee.UUIDField(null=True)
    flags = peewee.BitField(default=0)
    boss = peewee.ForeignKeyField("self", null=True, backref="people", on_delete="SET NULL")


class Tag(Base):
    word = peewee.FixedCharField(max_length=20, primary_key=True)
    times = peewee.BigIntegerField(default=0)


class Tagged(Base):
    person = peewee.ForeignKeyField(Person, backref="tagged", on_delete="CASCADE")
    tag = peewee.ForeignKeyField(Tag, backref="tagged")

    class Meta:
        primary_key = peewee.CompositeKey("person", "tag")
        indexes = ((("tag", "person"), True),)


database.connect()
database.create_tables([Person, Tag, Tagged])
database.create_tables([Person, Tag, Tagged])
found("tables", database.get_tables())
for table in database.get_tables():
    found("indexes", table, sorted((i.name, i.columns, i.unique) for i in database.get_indexes(table)))
    found("columns", table, sorted((c.name, c.data_type.split("(")[0], c.null, c.primary_key) for c in database.get_columns(table)))
    found("keys", table, sorted((k.column, k.dest_table, k.dest_column) for k in database.get_foreign_keys(table)))

boss = Person.create(name="🐎 boss", born=datetime.date(1970, 1, 1), picture=bytes(range(256)), token=uuid.UUID(int=7))
found("inserted", boss.id, Person.get_by_id(boss.id).picture == bytes(range(256)), Person.get_by_id(boss.id).token)
rows = [
    dict(name=f"n{n}", born=datetime.date(1980 + n, 1, 2), credit=decimal.Decimal(n) / 8, weight=n / 4, boss=boss, wakes=datetime.time(6, n), active=n % 2)
    for n in range(20)
]
found("many", Person.insert_many(rows).as_rowcount().execute())
with database.atomic():
    Tag.insert_many([("red", 1), ("blue", 2)], fields=[Tag.word, Tag.times]).execute()
    Tagged.insert_from(Person.select(Person.id, peewee.Value("red")).where(Person.id % 3 == 0), [Tagged.person, Tagged.tag]).execute()
for _ in range(2):
    Tag.insert(word="red", times=1).on_conflict(preserve=[Tag.times], update={Tag.times: Tag.times + 10}).execute()
    found("upsert", Tag.get_by_id("red").times)
found("ignored", Tag.insert(word="red").on_conflict_ignore().as_rowcount().execute())
Tag.replace(word="blue", times=7).execute()
found("replaced", list(Tag.select().order_by(Tag.word).tuples()))

Other = Person.alias()
for what, query in {
    "joined": Person.select(Person.name, Other.name).join(Other, on=(Person.boss == Other.id)).order_by(Person.id).limit(2),
    "counted": Tag.select(Tag.word, fn.COUNT(Tagged.person)).join(Tagged, peewee.JOIN.LEFT_OUTER).group_by(Tag.word).order_by(Tag.word),
    "having": Person.select(Person.active, fn.SUM(Person.credit), fn.AVG(Person.weight)).group_by(Person.active).having(fn.COUNT(Person.id) > 1).order_by(Person.active),
    "like": Person.select(Person.name).where(Person.name.contains("1") & ~Person.name.startswith("n1")),
    "exists": Person.select(Person.id).where(fn.EXISTS(Tagged.select().where(Tagged.person == Person.id))).order_by(-Person.id),
    "in": Person.select(Person.name).where(Person.id.in_(Tagged.select(Tagged.person)) | Person.credit.between(1, decimal.Decimal("1.25"))).order_by(Person.id),
    "case": Person.select(peewee.Case(None, [(Person.credit > 2, "rich"), (Person.credit > 1, "well")], "poor")).order_by(Person.id),
    "dates": Person.select(Person.born.year, Person.seen.month, fn.DATE_FORMAT(Person.seen, "%H:%i"), Person.seen.truncate("day")).order_by(Person.id).limit(2),
    "window": Person.select(Person.name, fn.RANK().over(partition_by=[Person.active], order_by=[Person.credit.desc()])).order_by(Person.id),
    "union": (Person.select(Person.id).where(Person.id < 3) | Person.select(Person.id).where(Person.id > 19)).order_by(peewee.SQL("1")),
    "regexp": Person.select(Person.name).where(Person.name.regexp("^n1[0-3]$")).order_by(Person.name),
    "binary": Person.select(Person.name).where(Person.name == "N3"),
    "concat": Person.select(Person.name.concat("!"), fn.GREATEST(Person.id, 3)).order_by(Person.id).limit(3),
    "distinct": Person.select(Person.active).distinct().order_by(Person.active),
    "subquery": Person.select(Person.name).where(Person.credit == Person.select(fn.MAX(Person.credit))),
}.items():
    found(what, list(query.tuples()))
tree = Person.select(Person.id, Person.boss, peewee.Value(1).alias("depth")).where(Person.boss.is_null()).cte("tree", recursive=True)
more = Person.select(Person.id, Person.boss, (tree.c.depth + 1)).join(tree, on=(Person.boss == tree.c.id))
tree = tree.union_all(more)
found("recursive", list(tree.select_from(tree.c.depth, fn.COUNT(tree.c.id)).group_by(tree.c.depth).order_by(tree.c.depth).tuples()))
found("prefetched", [(p.name, [t.tag_id for t in p.tagged]) for p in peewee.prefetch(Person.select().where(Person.id < 7).order_by(Person.id), Tagged)])
found("updated", Person.update(credit=Person.credit + 1).where(Person.active).execute())
people = list(Person.select().where(Person.id < 5).order_by(Person.id))
for person in people:
    person.notes = f"about {person.name}"
found("bulk", Person.bulk_update(people, [Person.notes], batch_size=2), Person.get(Person.notes == "about n1").id)
with database.atomic() as outer:
    Person.delete().where(Person.id > 10).execute()
    with database.atomic() as inner:
        Person.delete().execute()
        inner.rollback()
    found("inside", Person.select().count())
    outer.rollback()
found("after", Person.select().count())
try:
    Person.create(name="n1")
except peewee.IntegrityError as refusal:
    found("twice", refusal.args[0])
try:
    Tagged.create(person=999, tag="red")
except peewee.IntegrityError as refusal:
    found("orphan", refusal.args[0])
with database.atomic():
    found("locked", Person.select().where(Person.id == 2).for_update().get().name, Person.select().where(Person.id == 3).for_update("FOR UPDATE SKIP LOCKED").get().name)
boss.delete_instance()
found("without boss", Person.select().where(Person.boss.is_null()).count())

migrator = MySQLMigrator(database)
migrate(
    migrator.add_column("person", "mail", peewee.CharField(null=True, max_length=80)),
    migrator.rename_column("person", "weight", "heavy"),
    migrator.drop_not_null("person", "notes"),
    migrator.add_not_null("person", "heavy") if Person.select().where(Person.weight.is_null()).count() == 0 else migrator.add_index("person", ("mail", "born"), True),
    migrator.rename_table("tag", "word"),
    migrator.drop_index("person", "person_born"),
    migrator.drop_column("person", "token"),
    migrator.alter_column_type("person", "mail", peewee.CharField(max_length=120, null=True)),
)
models = Introspector.from_database(database).generate_models()
for name in sorted(models):
    found("read", name, [(f.name, type(f).__name__, f.null, f.unique) for f in models[name]._meta.sorted_fields])
database.drop_tables([Tagged, Person])
found("left", database.get_tables())
