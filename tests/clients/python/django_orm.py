"""Django: migrations of its own applications and of one here, forwards and backwards, and a course through the ORM."""

import datetime
import io
import os
import re
import shutil
import sys
import tempfile
import uuid
from decimal import Decimal

import pymysql
from place import DATABASE, HOST, PASSWORD, PORT, USER, found

try:
    import MySQLdb  # noqa: F401
except ImportError:
    pymysql.install_as_MySQLdb()
    pymysql.version_info = (2, 2, 1, "final", 0)
import django
from django.conf import settings

here = tempfile.mkdtemp()
shutil.copytree(os.path.join(os.path.dirname(__file__), "shop"), os.path.join(here, "shop"))
os.makedirs(os.path.join(here, "shop/migrations"))
open(os.path.join(here, "shop/migrations/__init__.py"), "w").close()
sys.path.insert(0, here)
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.mysql", "HOST": HOST, "PORT": PORT, "USER": USER, "PASSWORD": PASSWORD,
            "NAME": DATABASE, "OPTIONS": {"charset": "utf8mb4"},
        }
    },
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "shop"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=False,
    SECRET_KEY="of a test",
)
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, models, transaction  # noqa: E402
from django.db.models import Avg, Case, Count, Exists, F, Max, OuterRef, Prefetch, Q, Subquery, Sum, Value, When  # noqa: E402
from django.db.models.functions import Coalesce, Concat, ExtractYear, Length, TruncMonth, Upper  # noqa: E402
from shop.models import Author, Book, Publisher  # noqa: E402


def quietly(*command, **options):
    out = io.StringIO()
    call_command(*command, stdout=out, **options)
    return out.getvalue()


with connection.cursor() as cursor:
    cursor.execute("SET foreign_key_checks = 0")
    for table in connection.introspection.table_names(cursor):
        cursor.execute(f"DROP TABLE `{table}`")
    cursor.execute("SET foreign_key_checks = 1")
quietly("makemigrations", "shop")
found("migrated", len(re.findall(r"Applying .* OK", quietly("migrate", verbosity=1))))
found("nothing left", "No migrations to apply" in quietly("migrate"))
found("tables", sorted(connection.introspection.table_names()))
penguin = Publisher.objects.create(name="Penguin", facts={"since": 1935, "tags": ["paper", "é"]})
other = Publisher.objects.create(name="Other")
authors = Author.objects.bulk_create([Author(name=f"Author {n}", born=datetime.date(1900 + n, 5, 6)) for n in range(8)])
authors = list(Author.objects.order_by("name"))
for n in range(20):
    book = Book.objects.create(
        title=f"Book {n:02}", publisher=penguin if n % 3 else other, price=Decimal(n) / 2, pages=n * 10,
        printed=datetime.datetime(2020, 1 + n % 12, 1, 10, 20, 30, 456), code=uuid.UUID(int=n),
    )
    book.authors.set(authors[n % 4 : n % 4 + 2])
found("filter", list(Book.objects.filter(Q(price__gt=5) & ~Q(title__endswith="9")).values_list("title", flat=True)))
found("like", Book.objects.filter(title__icontains="bOOK 1").count(), Book.objects.filter(title__contains="bOOK 1").count())
found("regex", list(Book.objects.filter(title__regex=r"0[1-3]$").values_list("title", flat=True)))
found("annotate", list(Author.objects.annotate(n=Count("books"), last=Max("books__price")).filter(n__gt=3).values_list("name", "n", "last").order_by("name")))
found("aggregate", Book.objects.aggregate(Sum("pages"), Avg("pages"), Max("printed")))
found("dates", list(Book.objects.annotate(m=TruncMonth("printed"), y=ExtractYear("printed")).values_list("m", "y").annotate(n=Count("id")).order_by("m")[:3]))
found("text", list(Book.objects.annotate(u=Concat(Upper("title"), Value("!")), l=Length("title")).values_list("u", "l")[:2]))
newest = Book.objects.filter(authors=OuterRef("pk")).order_by("-price")
found("subquery", list(Author.objects.annotate(top=Subquery(newest.values("title")[:1])).values_list("name", "top").order_by("name")))
found("exists", list(Author.objects.filter(Exists(newest.filter(price__gt=8))).values_list("name", flat=True).order_by("name")))
found("case", list(Book.objects.annotate(c=Case(When(price__lt=3, then=Value("cheap")), default=Value("dear"))).values_list("c").annotate(n=Count("id")).order_by("c")))
found("update", Book.objects.filter(price__lt=3).update(price=F("price") + 1, pages=Coalesce("pages", 0) + 5))
found("prefetch", [(p.name, sum(b.pages for b in p.some)) for p in Publisher.objects.prefetch_related(Prefetch("book_set", Book.objects.filter(pages__gt=100), to_attr="some"))])
found("related", list(Book.objects.select_related("publisher").filter(publisher__name="Other").values_list("title", "publisher__name")[:2]))
found("json", sorted(Publisher.objects.get(pk=penguin.pk).facts.items()))
try:
    with transaction.atomic():
        Author.objects.create(name="Author 1")
except IntegrityError as error:
    found("refused", error.args[0])
try:
    with transaction.atomic():
        Author.objects.create(name="gone")
        with transaction.atomic():
            Author.objects.create(name="gone too")
        raise RuntimeError
except RuntimeError:
    found("rolled back", Author.objects.filter(name__startswith="gone").count())
with transaction.atomic():
    found("locked", Author.objects.select_for_update(skip_locked=True).filter(pk=authors[0].pk).count())
found("get or create", Author.objects.get_or_create(name="Author 2")[1], Author.objects.update_or_create(name="new", defaults={"is_alive": False})[1])
found("upsert", len(Author.objects.bulk_create([Author(name="Author 3", is_alive=False)], update_conflicts=True, update_fields=["is_alive"])), Author.objects.filter(is_alive=False).count())
found("union", list(Author.objects.filter(name="Author 1").values_list("name").union(Publisher.objects.values_list("name")).order_by("name")))
found("iterator", sum(1 for _ in Book.objects.iterator(chunk_size=3)))
other.delete()
found("cascade", Book.objects.count(), Book.authors.through.objects.count())
quietly("migrate", "shop", "zero")
found("back", [name for name in connection.introspection.table_names() if name.startswith("shop")])
shutil.rmtree(here)
