from django.db import models


class Author(models.Model):
    name = models.CharField(max_length=80, unique=True)
    born = models.DateField(null=True)
    is_alive = models.BooleanField(default=True)

    class Meta:
        indexes = [models.Index(fields=["born", "name"], name="by_birth")]


class Book(models.Model):
    title = models.CharField(max_length=200, db_index=True)
    authors = models.ManyToManyField(Author, related_name="books")
    publisher = models.ForeignKey("Publisher", on_delete=models.CASCADE, null=True)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    pages = models.IntegerField(default=0)
    printed = models.DateTimeField(null=True)
    text = models.TextField(blank=True)
    code = models.UUIDField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["title", "publisher"], name="one_of_a_title")]


class Publisher(models.Model):
    name = models.CharField(max_length=50)
    facts = models.JSONField(default=dict)
