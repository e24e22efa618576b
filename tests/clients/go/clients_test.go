// Package clients runs drivers and object mappers of Go against a server, and prints what they find.
package clients

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

func source(more string) string {
	return fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?parseTime=true%s", os.Getenv("CLIENT_USER"), os.Getenv("CLIENT_PASSWORD"),
		os.Getenv("CLIENT_HOST"), os.Getenv("CLIENT_PORT"), os.Getenv("CLIENT_DATABASE"), more)
}

func found(what string, values ...any) {
	fmt.Printf("found %s: %v\n", what, values)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func number(err error) uint16 {
	var refusal *driver.MySQLError
	if errors.As(err, &refusal) {
		return refusal.Number
	}
	return 0
}

func TestDriver(t *testing.T) {
	for _, more := range []string{"", "&interpolateParams=true", "&compress=true"} {
		db, err := sql.Open("mysql", source(more))
		must(t, err)
		for _, statement := range []string{"DROP TABLE IF EXISTS g", "CREATE TABLE g (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40), at DATETIME(6), f FLOAT, d DOUBLE, n DECIMAL(20,5), b BLOB, u BIGINT UNSIGNED, y YEAR, t TIME(3))"} {
			_, err = db.Exec(statement)
			must(t, err)
		}
		at := time.Date(2024, 2, 29, 1, 2, 3, 456789000, time.UTC)
		result, err := db.Exec("INSERT INTO g (name, at, f, d, n, b, u, y, t) VALUES (?,?,?,?,?,?,?,?,?)", "grün", at, float32(0.1), 1e300, "12345.67890", []byte{0, 255}, uint64(1)<<63, 2024, "-12:30:00.5")
		must(t, err)
		id, _ := result.LastInsertId()
		rows, err := db.Query("SELECT * FROM g WHERE id = ?", id)
		must(t, err)
		types, _ := rows.ColumnTypes()
		for _, each := range types {
			nullable, _ := each.Nullable()
			precision, scale, _ := each.DecimalSize()
			found("type", each.Name(), each.DatabaseTypeName(), nullable, precision, scale, each.ScanType())
		}
		for rows.Next() {
			var name string
			var at time.Time
			var f float32
			var d float64
			var n, span string
			var b []byte
			var u uint64
			var y int
			must(t, rows.Scan(&id, &name, &at, &f, &d, &n, &b, &u, &y, &span))
			found("row", id, name, at, f, d, n, b, u, y, span)
		}
		must(t, rows.Close())
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable})
		must(t, err)
		prepared, err := tx.Prepare("UPDATE g SET u = u - ? WHERE id = ?")
		must(t, err)
		for n := range 5 {
			result, err = prepared.Exec(n, id)
			must(t, err)
		}
		affected, _ := result.RowsAffected()
		must(t, tx.Commit())
		var u uint64
		must(t, db.QueryRow("SELECT u FROM g").Scan(&u))
		found("updated", affected, u)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_, err = db.ExecContext(ctx, "DO SLEEP(5)")
		cancel()
		found("cancelled", err)
		_, err = db.Exec("INSERT INTO g (id) VALUES (1)")
		found("duplicate", number(err))
		_, err = db.Exec("INSERT INTO g (u) VALUES (-1)")
		found("out of range", number(err))
		must(t, db.Close())
	}
}

type Company struct {
	ID        uint
	Name      string `gorm:"size:64;uniqueIndex"`
	Employees []Employee
}

type Employee struct {
	gorm.Model
	Name      string   `gorm:"size:100;index:by_name_and_pay"`
	Pay       float64  `gorm:"type:decimal(10,2);index:by_name_and_pay"`
	CompanyID *uint    `gorm:"index"`
	Skills    []Skill  `gorm:"many2many:employee_skills"`
	Company   *Company `gorm:"constraint:OnUpdate:CASCADE,OnDelete:SET NULL"`
	Started   time.Time
}

type Skill struct {
	ID   uint
	Name string `gorm:"size:30;unique"`
}

func TestGorm(t *testing.T) {
	db, err := gorm.Open(mysql.Open(source("&charset=utf8mb4&loc=UTC")), &gorm.Config{Logger: logger.Discard, NowFunc: func() time.Time { return time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC) }})
	must(t, err)
	must(t, db.Migrator().DropTable("employee_skills", &Employee{}, &Company{}, &Skill{}))
	for range 2 {
		must(t, db.AutoMigrate(&Company{}, &Skill{}, &Employee{}))
	}
	columns, err := db.Migrator().ColumnTypes(&Employee{})
	must(t, err)
	for _, column := range columns {
		nullable, _ := column.Nullable()
		primary, _ := column.PrimaryKey()
		length, _ := column.Length()
		found("column", column.Name(), column.DatabaseTypeName(), nullable, primary, length)
	}
	found("has", db.Migrator().HasIndex(&Employee{}, "by_name_and_pay"), db.Migrator().HasConstraint(&Employee{}, "fk_companies_employees"), db.Migrator().HasColumn(&Employee{}, "deleted_at"))
	skills := []Skill{{Name: "go"}, {Name: "sql"}, {Name: "ß"}}
	must(t, db.Create(&skills).Error)
	for n := range 4 {
		company := Company{Name: fmt.Sprintf("company %d", n)}
		for k := range n {
			company.Employees = append(company.Employees, Employee{Name: fmt.Sprintf("e%d%d", n, k), Pay: float64(k) * 1.25, Started: time.Date(2020, 1, 1+k, 0, 0, 0, 0, time.UTC), Skills: skills[:k+1]})
		}
		must(t, db.Create(&company).Error)
	}
	var companies []Company
	must(t, db.Preload("Employees.Skills").Order("id").Find(&companies).Error)
	for _, company := range companies {
		for _, employee := range company.Employees {
			found("loaded", company.Name, employee.Name, employee.Pay, len(employee.Skills), employee.CreatedAt)
		}
	}
	var sums []struct {
		Name  string
		Total float64
		Many  int
	}
	must(t, db.Model(&Employee{}).Select("companies.name, SUM(pay) AS total, COUNT(*) AS many").Joins("JOIN companies ON companies.id = company_id").Group("companies.name").Having("COUNT(*) > ?", 1).Order("total").Scan(&sums).Error)
	found("grouped", sums)
	var employees []Employee
	must(t, db.InnerJoins("Company").Where("pay > ?", 1).Order("employees.id").Limit(2).Offset(1).Find(&employees).Error)
	for _, employee := range employees {
		found("joined", employee.Name, employee.Company.Name)
	}
	must(t, db.Where("name IN (?)", db.Model(&Employee{}).Select("name").Where("pay = 0")).Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).Find(&employees).Error)
	found("subquery", len(employees))
	must(t, db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}).Create(&Company{ID: 1, Name: "again"}).Error)
	found("duplicate", number(db.Create(&Skill{Name: "go"}).Error))
	err = db.Transaction(func(tx *gorm.DB) error {
		return tx.Unscoped().Where("1 = 1").Delete(&Employee{}).Error
	})
	found("refused", number(err))
	err = db.Transaction(func(tx *gorm.DB) error {
		must(t, tx.Model(&Employee{}).Where("pay > 1").Update("pay", gorm.Expr("pay * ?", 2)).Error)
		must(t, tx.SavePoint("here").Error)
		must(t, tx.Where("pay > 2").Delete(&Employee{}).Error)
		return tx.RollbackTo("here").Error
	})
	must(t, err)
	must(t, db.Delete(&Employee{}, "name = ?", "e10").Error)
	var many, all int64
	db.Model(&Employee{}).Count(&many)
	db.Unscoped().Model(&Employee{}).Count(&all)
	found("left", many, all)
	must(t, db.FirstOrCreate(&Skill{}, Skill{Name: "new"}).Error)
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			must(t, db.Model(&Company{}).Where("id = ?", 1+n%2).Update("name", gorm.Expr("CONCAT(name, '.')")).Error)
		})
	}
	wait.Wait()
	var names []string
	must(t, db.Model(&Company{}).Order("id").Pluck("name", &names).Error)
	found("names", strings.Join(names, ", "))
}
