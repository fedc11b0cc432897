module github.com/quandohq/quando

go 1.26.0
