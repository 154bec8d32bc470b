"""Clients and server as real objects of Flower, in one process and in Flower's own environment (`test_flower_environment.py`)."""

import logging
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import Strategy

from shuffledp import InvalidInput, Plan, plan
from shuffledp.federated.flower import in_process_grid, report_mod, shuffled_averaging
from shuffledp.federated.update_encoder import protocol_of
from shuffledp.service.analyzer.ledger import Ledger

in_process_grid(lambda message, _: message, [])  # this process is a Flower server from here on
ENOUGH, CLIENTS, DIMENSION, ROUNDS = 200, 230, 5, 3
PLAN = plan.vector(dimension=DIMENSION, norm=1.0, n=ENOUGH, epsilon=4.0, delta=1e-6, rounds=ROUNDS)
TARGET = np.array([0.3, -0.2, 0.1, 0.0, 0.4])


def context(node: int) -> Context:
    return Context(run_id=1, node_id=node, node_config={}, state=RecordDict(), run_config={})


def app_of(train: Any, made: Plan = PLAN) -> ClientApp:
    app = ClientApp(mods=[report_mod(made)])
    app.train()(train)
    return app


def arrays_of(message: Message) -> Any:
    return message.content.array_records["arrays"].to_numpy_ndarrays()


def moved(message: Message, change: np.ndarray) -> Message:
    """A reply as the apps of Flower's tutorials make it: the trained model, and metrics."""
    matrix, rest = arrays_of(message)
    trained = [matrix + change[:4].reshape(2, 2), rest + change[4:]]
    return Message(
        RecordDict({"arrays": ArrayRecord(trained), "metrics": MetricRecord({"num-examples": 7, "loss": 0.25})}),
        reply_to=message,
    )


def by_node(message: Message, context: Context) -> Message:
    """Clients whose updates differ, with the target as their mean."""
    way = 0.1 * (-1) ** context.node_id
    return moved(message, TARGET + way)


def model() -> ArrayRecord:
    return ArrayRecord([np.zeros((2, 2)), np.zeros(1)])


def numbers(arrays: ArrayRecord) -> np.ndarray:
    return np.concatenate([array.ravel() for array in arrays.to_numpy_ndarrays()])


def asked(node: int = 1, server_round: int = 1, kind: str = "train", arrays: ArrayRecord | None = None) -> Message:
    content = RecordDict({"arrays": arrays or model(), "config": ConfigRecord({"server-round": server_round})})
    return Message(content, dst_node_id=node, message_type=kind)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger", epsilon=4.0, delta=1e-6)


def strategy_of(ledger: Ledger, made: Plan = PLAN, **options: Any) -> Any:
    return shuffled_averaging(made, ledger, shuffled_by="the test", **options)


def grid_of(app: Any, clients: int = CLIENTS) -> Any:
    return in_process_grid(app, [context(node) for node in range(1, clients + 1)])


def test_flower_is_the_real_one_and_starts_nothing() -> None:
    assert Strategy.__module__.startswith("flwr.")
    assert threading.active_count() == 1
    assert "ray" not in sys.modules


def test_flowers_own_loop_moves_the_model_by_the_mean_and_stops_at_the_budget(ledger: Ledger) -> None:
    strategy, grid = strategy_of(ledger, learning_rate=0.5), grid_of(app_of(by_node))
    assert isinstance(strategy, Strategy)
    result = strategy.start(grid, model(), num_rounds=ROUNDS + 2)
    error = PLAN.protocol.rmse(CLIENTS) * 0.5 * np.sqrt(ROUNDS)
    assert np.linalg.norm(numbers(result.arrays) - 0.5 * ROUNDS * TARGET) < 6 * error
    assert [array.shape for array in result.arrays.to_numpy_ndarrays()] == [(2, 2), (1,)]
    assert sorted(result.train_metrics_clientapp) == [1, 2, 3]
    assert result.train_metrics_clientapp[1]["reports"] == CLIENTS
    assert sorted(strategy.refused) == [ROUNDS + 1, ROUNDS + 2]
    assert "the budget is spent" in strategy.refused[ROUNDS + 1]
    assert ledger.balance().releases == ROUNDS
    assert ledger.balance().spent_epsilon <= 4.0


def test_the_mean_is_unbiased_and_as_far_off_as_forecast(tmp_path: Path) -> None:
    """Each of 5 entries is 6.4 standard errors off by chance in one of 1e9 times."""
    made = plan.vector(dimension=DIMENSION, norm=1.0, n=ENOUGH, epsilon=8.0, delta=1e-6)
    protocol = protocol_of(made)
    far = Ledger(tmp_path / "large", epsilon=200.0, delta=1e-3)
    strategy, rounds = strategy_of(far, made), 12
    contexts = [context(node) for node in range(1, ENOUGH + 1)]
    config, found = ConfigRecord(), []
    replies_by = app_of(by_node, made)
    for number in range(1, rounds + 1):
        messages = strategy.configure_train(number, model(), config, in_process_grid(replies_by, contexts))
        replies = [replies_by(message, contexts[message.metadata.dst_node_id - 1]) for message in messages]
        found.append(numbers(strategy.aggregate_train(number, replies)[0]))
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    forecast = protocol.standard_error(TARGET, ENOUGH)
    assert (np.abs(mean - TARGET) < 6.4 * forecast / np.sqrt(rounds)).all()
    assert (np.abs(mean - protocol.law.gain * TARGET) > 6.4 * forecast / np.sqrt(rounds)).any()  # never divided by it
    assert (spread < 3 * forecast).all()


def test_a_reply_is_the_report_and_nothing_else() -> None:
    reply = app_of(by_node)(asked(), context(1))
    assert list(reply.content) == ["report"]
    report = reply.content["report"]
    assert sorted(report) == ["messages", "server-round"]
    assert len(report["messages"]) == 1
    assert 0 <= report["messages"][0] < PLAN.protocol.randomizer.messages
    assert report.count_bytes() <= 64


def test_clipping_is_counted_where_the_client_is(ledger: Ledger) -> None:
    contexts = [context(node) for node in range(1, ENOUGH + 1)]
    app = app_of(lambda message, own: moved(message, TARGET * (1000.0 if own.node_id <= 6 else 1.0)))
    strategy = strategy_of(ledger)
    result = strategy.start(in_process_grid(app, contexts), model(), num_rounds=1)
    assert [own.state["shuffledp"]["clipped"] for own in contexts] == [1] * 6 + [0] * (ENOUGH - 6)
    assert sorted(result.train_metrics_clientapp[1]) == ["failed", "rejected", "reports", "standard-error"]
    most = 0.03 * (1 + np.linalg.norm(TARGET))  # six unclipped ones would move it by 30
    assert np.linalg.norm(numbers(result.arrays) - TARGET) < most + 6 * PLAN.protocol.rmse(ENOUGH)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_update_without_finite_numbers_is_no_change(bad: float) -> None:
    own = context(1)
    reply = app_of(lambda message, _: moved(message, np.full(5, bad)))(asked(), own)
    assert not reply.has_error()
    assert own.state["shuffledp"]["unusable"] == 1


def fails(message: Message, _: Context) -> Message:
    raise ValueError("income 123456")


def wrong_shape(message: Message, _: Context) -> Message:
    return Message(RecordDict({"arrays": ArrayRecord([np.zeros(7)])}), reply_to=message)


def no_arrays(message: Message, _: Context) -> Message:
    return Message(RecordDict(), reply_to=message)


@pytest.mark.parametrize("train", [fails, wrong_shape, no_arrays])
def test_an_app_that_fails_reports_no_change_and_its_log_says_why(train: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Flower would send the exception's text, and the number of reports would say that there was one."""
    own = context(1)
    with caplog.at_level(logging.ERROR, "shuffledp.federated"):
        reply = app_of(train)(asked(), own)
    assert not reply.has_error()
    assert list(reply.content) == ["report"]
    assert own.state["shuffledp"]["failed"] == 1
    assert "training failed" in caplog.text


def test_an_evaluation_is_refused() -> None:
    app = app_of(by_node)
    app.evaluate()(lambda message, _: pytest.fail("the client was evaluated"))
    assert "only training is private" in app(asked(kind="evaluate"), context(1)).error.reason


def test_a_client_takes_part_once_in_a_round_and_in_as_many_as_are_planned() -> None:
    own, app = context(1), app_of(by_node)
    assert not app(asked(server_round=2), own).has_error()
    for again in (2, 1, 0):
        assert "repeated" in app(asked(server_round=again), own).error.reason
    assert [app(asked(server_round=number), own).has_error() for number in (3, 4, 5, 6)] == [False, False, True, True]


def test_a_model_of_another_size_is_refused_on_either_side(ledger: Ledger) -> None:
    other = ArrayRecord([np.zeros(6)])
    with pytest.raises(InvalidInput, match="Plan with dimension=6"):
        strategy_of(ledger).start(grid_of(app_of(by_node)), other, num_rounds=1)
    assert ledger.balance().releases == 0
    assert "model of 5 numbers" in app_of(by_node)(asked(arrays=other), context(1)).error.reason


def test_reports_that_are_none_of_the_plans_are_rejected_and_counted(ledger: Ledger) -> None:
    app, strategy = app_of(by_node), strategy_of(ledger)
    contexts = [context(node) for node in range(1, CLIENTS + 1)]
    grid = in_process_grid(app, contexts)
    messages = list(strategy.configure_train(1, model(), ConfigRecord(), grid))
    replies = list(grid.send_and_receive(messages))
    beyond = PLAN.protocol.randomizer.messages

    def forged(number: int, **record: Any) -> None:
        replies[number] = Message(RecordDict(record), reply_to=messages[number])

    def reported(number: int, values: Any, server_round: int = 1) -> None:
        forged(number, report=MetricRecord({"server-round": server_round, "messages": values}))

    reported(0, [beyond])
    reported(1, [-1])
    reported(2, [0.5])
    reported(3, [])
    reported(4, [1, 2])
    reported(5, 3)
    reported(6, [1], server_round=2)
    forged(7)
    forged(8, arrays=ArrayRecord([np.full(5, 1e9)]))
    replies.append(replies[20])  # a client that replies twice
    arrays, metrics = strategy.aggregate_train(1, replies)
    assert (metrics["reports"], metrics["rejected"], metrics["failed"]) == (CLIENTS - 9, 10, 0)
    assert np.linalg.norm(numbers(arrays) - TARGET) < 6 * PLAN.protocol.rmse(ENOUGH)


def test_a_client_that_was_not_asked_is_rejected(ledger: Ledger) -> None:
    app, strategy = app_of(by_node), strategy_of(ledger)
    grid = grid_of(app, ENOUGH)
    replies = list(grid.send_and_receive(strategy.configure_train(1, model(), ConfigRecord(), grid)))
    replies.append(app(asked(node=5000), context(5000)))
    assert strategy.aggregate_train(1, replies)[1]["rejected"] == 1


def test_too_few_reports_change_nothing_and_stay_booked(ledger: Ledger) -> None:
    app, strategy = app_of(by_node), strategy_of(ledger)
    grid = grid_of(app)
    replies = list(grid.send_and_receive(strategy.configure_train(1, model(), ConfigRecord(), grid)))
    arrays, metrics = strategy.aggregate_train(1, replies[: ENOUGH - 1])
    assert arrays is None
    assert metrics["reports"] == ENOUGH - 1
    assert "only 199 clients" in strategy.refused[1]
    assert ledger.balance().releases == 1
    assert strategy.aggregate_train(1, replies) == (None, None)  # what a round holds is opened once


def test_too_few_clients_are_not_asked_and_nothing_is_booked(ledger: Ledger) -> None:
    strategy = strategy_of(ledger)
    assert strategy.configure_train(1, model(), ConfigRecord(), grid_of(app_of(by_node), 199)) == []
    assert "199 clients" in strategy.refused[1]
    assert ledger.balance().releases == 0


def test_evaluation_asks_nobody(ledger: Ledger) -> None:
    strategy = strategy_of(ledger)
    assert strategy.configure_evaluate(1, model(), ConfigRecord(), grid_of(app_of(by_node))) == []
    assert strategy.aggregate_evaluate(1, []) is None


def test_who_shuffles_must_be_named_and_is_said(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    for nobody in ("", "  ", None):
        with pytest.raises(InvalidInput, match="nobody is named"):
            shuffled_averaging(PLAN, ledger, shuffled_by=nobody)  # type: ignore[arg-type]
    with caplog.at_level(logging.INFO, "flwr"):
        logging.getLogger("flwr").propagate = True
        strategy_of(ledger).summary()
    assert "not against the test, who shuffles" in caplog.text


@pytest.mark.parametrize("rate", [0.0, -1.0, np.inf, np.nan])
def test_a_learning_rate_that_is_none_is_refused(ledger: Ledger, rate: float) -> None:
    with pytest.raises(InvalidInput, match="learning_rate"):
        strategy_of(ledger, learning_rate=rate)
