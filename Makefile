# Two commands are enough: `make demo` and `make test` set up everything they need in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS ?= 1
export OMP_WAIT_POLICY ?= PASSIVE
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1

.PHONY: demo test test-browser test-matrix test-readme lint format bench fuzz docs clean

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[video]"
	touch $@

# TrackEval, trackers and ultralytics name an OpenCV of their own that would overwrite the headless one. torchvision, which
# timm and ultralytics name, would bring another torch; detection/_torch.py makes it fit the one that is there.
$(VENV)/.dev: $(VENV)/.core pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	$(BIN)/python -m pip install --quiet --no-deps "trackeval==1.3.0" "trackers>=2.6,<3" \
	  "ultralytics>=8.4.190,<8.5" "ultralytics-thop>=2.2,<3" "timm>=1.0.30,<2" "torchvision==0.28.*"
	touch $@

demo: $(VENV)/.core  ## film a simulated school, find the fish in the films, track them, score the tracks, write the report
	rm -rf demo
	$(BIN)/python -m trackfish3d simulate --fish 8 --rig 5 --frames 100 --seed 1 --video --out demo/school
	$(BIN)/python -m trackfish3d run demo/school/videos/*.mp4 --cameras demo/school/cameras.toml \
	  --truth demo/school --gate 1.0 --out demo/run
	$(BIN)/python -m trackfish3d evaluate demo/run --truth demo/school --gate 1.0 --plots demo/plots
	@echo "open demo/run/report.html in a browser"

test: $(VENV)/.dev
	$(BIN)/python -m pytest -q -m "not browser" -n 2

test-browser: $(VENV)/.dev
	$(BIN)/python -m pytest -q -m browser

test-matrix:  ## the core tests, without torch, on every Python from 3.10 to 3.13 that is there
	$(PYTHON) tests/packaging/matrix.py

test-readme:  ## README's Python as typed, in a fresh environment that holds the wheel alone
	$(PYTHON) tests/packaging/readme.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/bench_cameras.py
	$(BIN)/python benchmarks/bench_recording.py
	$(BIN)/python benchmarks/bench_scores.py
	$(BIN)/python benchmarks/bench_synfish.py
	$(BIN)/python benchmarks/bench_tracking.py

FUZZ ?= --cases 100000 --seed 1 --state docs/results/fuzz.json --out docs/results/fuzz.md
fuzz: $(VENV)/.dev  ## damage files of every reader, from where the last run stopped; hours: `make fuzz FUZZ="--minutes 5"` for a part
	$(BIN)/python -m fuzz $(FUZZ)

$(VENV)/.docs: $(VENV)/.core pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

docs: $(VENV)/.docs  ## the site, site/index.html; its tutorials are run while it is built
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	@echo "open site/index.html in a browser"

clean:
	rm -rf $(VENV) $(VENV)-3.* site demo build dist src/*.egg-info
