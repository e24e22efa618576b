import jakarta.persistence.*;
import java.math.BigDecimal;
import java.time.*;
import java.util.*;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.cfg.Configuration;
import org.hibernate.type.SqlTypes;

/** Hibernate ORM: a schema made, made again and validated, associations, locks, versions, batches, HQL and what it makes of it. */
public class Hibernate {
    public enum Kind { SMALL, LARGE }

    @Embeddable
    public static class Address {
        public String street;
        public String town;
    }

    @Entity(name = "Customer")
    @Table(name = "customer", uniqueConstraints = @UniqueConstraint(name = "once", columnNames = "name"), indexes = @Index(name = "by_kind", columnList = "kind, since DESC"))
    public static class Customer {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) public Long id;
        @Column(length = 60, nullable = false) public String name;
        @Enumerated(EnumType.STRING) public Kind kind;
        @Embedded public Address address = new Address();
        public LocalDateTime since;
        public Instant seen;
        public LocalDate born;
        public Boolean active;
        @Column(precision = 12, scale = 3) public BigDecimal credit;
        public UUID token;
        @Lob public String notes;
        @Lob public byte[] picture;
        @JdbcTypeCode(SqlTypes.JSON) public Map<String, String> facts;
        @Version public int version;
        @OneToMany(mappedBy = "customer", cascade = CascadeType.ALL, orphanRemoval = true) @OrderBy("id") public List<Purchase> purchases = new ArrayList<>();
        @ManyToMany(cascade = CascadeType.PERSIST) @JoinTable(name = "customer_tag") public Set<Tag> tags = new LinkedHashSet<>();
        @ElementCollection @OrderColumn(name = "place") public List<String> phones = new ArrayList<>();
    }

    @Entity(name = "Purchase")
    @Table(name = "purchase")
    @Inheritance(strategy = InheritanceType.JOINED)
    public static class Purchase {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "purchase_ids") @TableGenerator(name = "unused") @SequenceGenerator(name = "purchase_ids", allocationSize = 5) public Long id;
        @ManyToOne(fetch = FetchType.LAZY, optional = false) @JoinColumn(foreignKey = @ForeignKey(name = "of_customer")) public Customer customer;
        public BigDecimal total;
        public Duration span;
        public OffsetDateTime at;
    }

    @Entity(name = "Gift")
    @Table(name = "gift")
    public static class Gift extends Purchase {
        public String words;
    }

    @Entity(name = "Tag")
    @Table(name = "tag")
    public static class Tag {
        @Id @GeneratedValue(strategy = GenerationType.TABLE) public Integer id;
        @Column(unique = true, length = 40) public String word;
        public double weight;
    }

    static void found(String what, Object... values) {
        System.out.println(what + ": " + Arrays.deepToString(values));
    }

    static String place(String more) {
        Map<String, String> e = System.getenv();
        return "jdbc:mysql://" + e.get("CLIENT_HOST") + ":" + e.get("CLIENT_PORT") + "/" + e.get("CLIENT_DATABASE") + "?allowPublicKeyRetrieval=true&connectionTimeZone=UTC" + more;
    }

    static SessionFactoryOf factory(String schema, String more) {
        Configuration c = new Configuration();
        for (Class<?> entity : List.of(Customer.class, Purchase.class, Gift.class, Tag.class)) c.addAnnotatedClass(entity);
        c.setProperty(AvailableSettings.JAKARTA_JDBC_URL, place(more));
        c.setProperty(AvailableSettings.JAKARTA_JDBC_USER, System.getenv("CLIENT_USER"));
        c.setProperty(AvailableSettings.JAKARTA_JDBC_PASSWORD, System.getenv("CLIENT_PASSWORD"));
        c.setProperty(AvailableSettings.HBM2DDL_AUTO, schema);
        c.setProperty(AvailableSettings.STATEMENT_BATCH_SIZE, "10");
        c.setProperty(AvailableSettings.JDBC_TIME_ZONE, "UTC");
        c.setProperty("hibernate.hbm2ddl.halt_on_error", "true");
        c.setProperty(AvailableSettings.DIALECT, "org.hibernate.dialect." + ("mariadb".equals(System.getenv("CLIENT_KIND")) ? "MariaDBDialect" : "MySQLDialect"));
        return new SessionFactoryOf(c.buildSessionFactory());
    }

    record SessionFactoryOf(org.hibernate.SessionFactory all) implements AutoCloseable {
        public void close() {
            all.close();
        }
    }

    public static void main(String[] arguments) {
        java.util.logging.LogManager.getLogManager().reset();
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        try (var f = factory("update", "&sslMode=DISABLED")) {
            fill(f.all());
        }
        // There is nothing to do any more, and what is there is what the entities say.
        try (var f = factory("update", "&sslMode=REQUIRED&useServerPrepStmts=true")) {
            ask(f.all());
        }
        try (var f = factory("validate", "&sslMode=DISABLED&rewriteBatchedStatements=true&useCursorFetch=true&defaultFetchSize=2")) {
            change(f.all());
            ask(f.all());
        }
        try (var f = factory("create-drop", "&sslMode=DISABLED")) {
            fill(f.all());
        }
    }

    static void fill(org.hibernate.SessionFactory f) {
        f.inTransaction(s -> {
            Tag[] tags = {new Tag(), new Tag(), new Tag()};
            for (int n = 0; n < 3; n++) {
                tags[n].word = "tag" + n;
                tags[n].weight = n / 4.0;
                s.persist(tags[n]);
            }
            for (int n = 0; n < 12; n++) {
                Customer c = new Customer();
                c.name = "Ærø🐎" + n;
                c.kind = n % 3 == 0 ? Kind.SMALL : Kind.LARGE;
                c.address.town = n % 2 == 0 ? "Brno" : null;
                c.since = LocalDateTime.of(2024, 2, 29, 12, n, 0);
                c.seen = Instant.parse("2024-07-01T00:00:00Z").plusSeconds(n);
                c.born = LocalDate.of(1970 + n, 1, 1);
                c.active = n % 2 == 0;
                c.credit = new BigDecimal("10.125").multiply(BigDecimal.valueOf(n));
                c.token = new UUID(n, n);
                c.notes = "long ".repeat(n * 100);
                c.picture = new byte[] {(byte) n, 0, -1};
                c.facts = n % 4 == 0 ? null : Map.of("n", "" + n, "quo'te", "\\\"");
                c.phones.addAll(List.of("a" + n, "b" + n).subList(0, n % 3));
                c.tags.add(tags[n % 3]);
                for (int m = 0; m < n % 4; m++) {
                    Purchase p = m == 1 ? new Gift() : new Purchase();
                    if (p instanceof Gift gift) gift.words = "for you";
                    p.customer = c;
                    p.total = BigDecimal.valueOf(100 * n + m, 2);
                    p.span = Duration.ofMinutes(90);
                    p.at = OffsetDateTime.of(2024, 3, 1, n, m, 0, 0, ZoneOffset.ofHours(2));
                    c.purchases.add(p);
                }
                s.persist(c);
            }
        });
        f.inTransaction(s -> found("filled", s.createQuery("select count(*) from Purchase", Long.class).getSingleResult()));
        try {
            f.inTransaction(s -> {
                Customer c = new Customer();
                c.name = "Ærø🐎1";
                s.persist(c);
            });
        } catch (PersistenceException refusal) {
            found("twice", refusal.getClass().getSimpleName(), refusal instanceof org.hibernate.exception.ConstraintViolationException v ? v.getKind() : null);
        }
    }

    static void ask(org.hibernate.SessionFactory f) {
        f.inTransaction(s -> {
            Customer c = s.createQuery("from Customer c left join fetch c.purchases where c.name = :name", Customer.class).setParameter("name", "Ærø🐎6").getSingleResult();
            found("one", c.id, c.kind, c.address.town, c.since, c.seen, c.born, c.active, c.credit, c.token, c.notes.length(), c.picture, c.facts == null ? null : new TreeMap<>(c.facts), c.version, c.purchases.size(), c.phones, c.tags.size());
            found("purchases", c.purchases.stream().map(p -> p.getClass().getSimpleName() + p.total + p.span + p.at.toInstant()).toList());
            for (String query : List.of(
                    "select c.kind, count(*), sum(c.credit), avg(t.weight) from Customer c join c.tags t group by c.kind order by c.kind",
                    "select c.name, size(c.purchases) from Customer c where size(c.purchases) > 2 order by c.name",
                    "select c.name from Customer c where exists (select 1 from Purchase p where p.customer = c and p.total > 5) and c.active = true order by c.id",
                    "select c.name, rank() over (partition by c.kind order by c.credit desc) from Customer c order by c.id",
                    "select year(c.born), month(c.since), extract(second from c.seen) from Customer c order by c.id fetch first 3 rows only",
                    "select c.name from Customer c where c.name like '%🐎1%' and c.address.town is null order by c.name desc",
                    "select upper(c.name) || '-' || cast(c.id as string), coalesce(c.address.town, 'nowhere') from Customer c order by c.id offset 3 rows fetch next 2 rows only",
                    "select t.word, listagg(c.name, ',') within group (order by c.id) from Customer c join c.tags t group by t.word order by t.word",
                    "select count(*) from (select c.id as n from Customer c where c.id in (1, 3, 5) union all select p.customer.id as n from Purchase p where p.total > 10) u",
                    "with rich as (select c.id as id, c.credit as credit from Customer c where c.credit > 50) select count(*), max(r.credit) from rich r",
                    "select type(p), count(*) from Purchase p group by type(p) order by count(*)",
                    "select p.words, p.total from Gift p order by p.total",
                    "select timestampadd(day, 1, c.since), c.since + 1 hour, (c.seen - c.since) by second from Customer c order by c.id limit 2",
                    "select c.id, case when c.credit > 50 then 'rich' when c.kind = SMALL then 'small' else 'other' end from Customer c order by c.id",
                    "select mod(c.id, 3), floor(c.credit), round(c.credit, 1), power(2, 3), c.credit / 3 from Customer c order by c.id limit 2",
                    "select distinct element(c.phones) from Customer c order by 1",
                    "select count(distinct c.address.town), min(c.token), every(c.active), any(c.active) from Customer c",
                    "select greatest(c.id, 3), nullif(c.id, 2), position('o' in c.address.town), left(c.name, 2), substring(c.name, 2, 2), length(c.name), replace(c.name, 'r', 'R') from Customer c order by c.id limit 3",
                    "select format(c.since as 'yyyy-MM-dd HH:mm'), c.since between local datetime and local datetime from Customer c order by c.id limit 1")) {
                found(query, s.createQuery(query, Object.class).getResultList().toArray());
            }
            var b = s.getCriteriaBuilder();
            var q = b.createQuery(Customer.class);
            var root = q.from(Customer.class);
            q.where(b.and(b.greaterThan(root.get("credit"), BigDecimal.TEN), b.or(b.isNull(root.get("address").get("town")), b.equal(root.get("kind"), Kind.SMALL)))).orderBy(b.desc(root.get("since")));
            found("criteria", s.createQuery(q).setFirstResult(1).setMaxResults(3).getResultList().stream().map(x -> x.name).toList());
            found("native", s.createNativeQuery("SELECT name, credit FROM customer WHERE MATCH_ID(id) = 1".replace("MATCH_ID(id)", "id"), Object[].class).getResultList().toArray());
            found("keys", s.createNativeQuery("SELECT table_name, constraint_name, constraint_type FROM information_schema.table_constraints WHERE constraint_schema = DATABASE() AND constraint_type <> 'CHECK' ORDER BY LOWER(table_name), 3, 2", Object[].class).getResultList().toArray());
            found("columns", s.createNativeQuery("SELECT table_name, column_name, is_nullable, data_type FROM information_schema.columns WHERE table_schema = DATABASE() AND data_type NOT IN ('json', 'longtext') AND table_name <> 'purchase_ids' ORDER BY LOWER(table_name), 2", Object[].class).getResultList().toArray());
        });
    }

    static void change(org.hibernate.SessionFactory f) {
        f.inTransaction(s -> {
            Customer c = s.find(Customer.class, 4L, LockModeType.PESSIMISTIC_WRITE);
            c.purchases.remove(0);
            c.phones.add(0, "first");
            c.facts = Map.of("new", "fact");
            c.tags.clear();
        });
        Customer stale = f.fromTransaction(s -> s.find(Customer.class, 5L));
        f.inTransaction(s -> s.find(Customer.class, 5L).address.street = "another");
        try {
            f.inTransaction(s -> {
                stale.address.street = "late";
                s.merge(stale);
            });
        } catch (OptimisticLockException late) {
            found("late", late.getClass().getSimpleName());
        }
        f.inTransaction(s -> {
            found("locked", s.createQuery("from Customer c where c.id < 4 order by c.id", Customer.class).setLockMode(LockModeType.PESSIMISTIC_WRITE).getResultList().size());
            try {
                f.inTransaction(t -> t.createQuery("from Customer c where c.id = 1", Customer.class).setHibernateLockMode(org.hibernate.LockMode.UPGRADE_NOWAIT).getResultList());
            } catch (PersistenceException refusal) {
                found("no wait", refusal.getClass().getSimpleName());
            }
            found("others", f.<Object>fromTransaction(t -> t.createNativeQuery("SELECT id FROM customer ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED", Long.class).getResultList().size()));
        });
        f.inTransaction(s -> {
            found("changed", s.createMutationQuery("update Customer c set c.credit = c.credit + 1, c.version = c.version + 1 where c.kind = LARGE").executeUpdate());
            found("moved", s.createMutationQuery("update Gift g set g.total = g.total * 2, g.words = 'moved' where g.total > 1").executeUpdate());
            found("removed", s.createMutationQuery("delete from Gift g where g.total > 20").executeUpdate());
            found("copied", s.createMutationQuery("insert into Tag (id, word, weight) select t.id + 1000, t.word || 'x', t.weight from Tag t").executeUpdate());
            found("upsert", s.createMutationQuery("insert into Tag (id, word, weight) values (1001, 'again', 1.5) on conflict do update set weight = excluded.weight").executeUpdate());
            s.flush();
        });
        f.inStatelessTransaction(s -> {
            Tag t = new Tag();
            t.id = 1002;
            t.word = "upserted";
            s.upsert(t);
            t.weight = 7;
            s.upsert(t);
        });
        f.inTransaction(s -> found("tags", s.createQuery("select t.id > 1000, t.word, t.weight from Tag t order by t.word", Object[].class).getResultList().toArray()));
    }
}
