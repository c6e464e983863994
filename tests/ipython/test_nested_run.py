"""Code that the agent runs while the cell waits: what it shows, and that the cell and IPython notice nothing of it."""

import signal
from typing import Any

import pytest

from ..jupyter.front_end import FrontEnd, is_status, parent
from ..limits import LIMIT
from .playing import BLOCKED, CELL, IN_A_FUNCTION, begin, play, prepare, value

CELLS = {"awaited": CELL, "in a function": IN_A_FUNCTION}


def run(front_end: FrontEnd, code: str, cell: str = CELL) -> Any:
    """What the agent gets: ok, and the outputs."""
    assert play(front_end, f"return await notebook.run_python({code!r})", cell).status == "ok"
    return value(front_end, "(played.ok, list(played.outputs))")


# -- what comes of a run ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", CELLS)
def test_the_agent_gets_all_kinds_of_output_and_the_cell_shows_them(agent: FrontEnd, cell: str) -> None:
    code = "import sys\nprint('one'); print('two', file=sys.stderr)\ndisplay('three')\n40 + 2"
    outcome = play(agent, f"return await notebook.run_python({code!r})", CELLS[cell])
    assert value(agent, "played.ok")
    texts = [each.get("text") or each["data"]["text/plain"] for each in value(agent, "list(played.outputs)")]
    assert texts == ["one\n", "two\n", "'three'", "42"]
    shown = str([m["content"] for m in outcome.outputs])
    assert all(text.strip("\n") in shown for text in ("one", "two", "'three'", "42"))
    assert outcome.status == "ok"


def test_an_error_is_the_runs_and_not_the_cells(agent: FrontEnd) -> None:
    ok, outputs = run(agent, "1 / 0")
    assert (ok, [each["ename"] for each in outputs]) == (False, ["ZeroDivisionError"])
    ok, outputs = run(agent, "x =")
    assert (ok, [each["ename"] for each in outputs]) == (False, ["SyntaxError"])


def test_half_a_character_in_an_error_is_replaced(agent: FrontEnd) -> None:
    ok, outputs = run(agent, r"raise ValueError('A\ud83d')")
    assert (ok, [(each["ename"], each["evalue"]) for each in outputs]) == (False, [("ValueError", "A�")])


def test_a_long_print_keeps_its_beginning_and_end_and_what_comes_after_it(agent: FrontEnd) -> None:
    ok, (printed, shown) = run(agent, "print('line\\n' * 2_000_000)\n'after'")
    text = printed["text"]
    assert (ok, text.startswith("line\nline\n"), text.endswith("line\n\n"), len(text) < 1_001_000) == (
        True,
        True,
        True,
        True,
    )
    assert (" characters left out …\n" in text, shown["data"]["text/plain"]) == (True, "'after'")


BAR = """
from ipywidgets import HTML, FloatProgress, HBox
percent, bar, words = HTML("0%"), FloatProgress(max=30), HTML("0/30 [00:00&lt;?]")
display(HBox([percent, bar, words]))
percent.value, bar.value, words.value = "100%", 30, " 30/30 [00:00&lt;00:00]"
"""


def test_a_bar_that_has_finished_reads_as_finished(agent: FrontEnd) -> None:
    _, (output,) = run(agent, BAR)
    assert output["data"]["text/plain"] == "100% 30/30 30/30 [00:00<00:00]"
    _, (output,) = run(agent, "from ipywidgets import IntSlider\ndisplay(IntSlider(3))")
    assert output["data"]["text/plain"] == "IntSlider(value=3)"


def test_the_namespace_is_the_users(agent: FrontEnd) -> None:
    agent.run("x = 1")
    run(agent, "x += 1\nimport asyncio\ny = await asyncio.sleep(0, 'slept')")
    assert value(agent, "x, y") == (2, "slept")


def test_updates_and_magics_work_and_the_answer_is_not_cleared(agent: FrontEnd) -> None:
    code = "h = display('old', display_id=True)\nh.update('new')\n%time pass\n!echo shelled"
    outputs = str(run(agent, code)[1])
    assert ("'new'" in outputs, "'old'" in outputs, "Wall time" in outputs, "shelled" in outputs) == (1, 0, 1, 1)
    outcome = play(agent, "await notebook.run_python('from IPython.display import clear_output\\nclear_output()')")
    assert [m for m in outcome.outputs if m["msg_type"] == "clear_output"] == []


@pytest.mark.parametrize("cell", CELLS)
def test_a_run_that_asks_the_agent_is_refused(agent: FrontEnd, cell: str) -> None:
    agent.run("def ask():\n    %copilot demo: say Hello")
    for code in ("%copilot demo: say Hello", "ask()"):
        ok, outputs = run(agent, code, CELLS[cell])
        assert (ok, outputs[-1]["ename"]) == (False, "UsageError")


@pytest.mark.parametrize("cell", CELLS)
def test_a_run_can_neither_end_the_kernel_nor_unload_the_extension(agent: FrontEnd, cell: str) -> None:
    for code in ("quit", "exit()\nleft = 1", "exit(keep_kernel=True)", "get_ipython().ask_exit()"):
        ok, outputs = run(agent, code, CELLS[cell])
        errors = [each["ename"] for each in outputs if each["output_type"] == "error"]
        assert (code, ok, errors, "cannot end the kernel" in str(outputs)) == (code, False, ["SystemExit"], True)
    for magic in ("reload_ext", "unload_ext"):
        ok, outputs = run(agent, f"%{magic} copilot_kernel", CELLS[cell])
        assert (ok, outputs[-1]["ename"]) == (False, "UsageError")
    assert agent.run("%reload_ext copilot_kernel").status == "ok"
    prepare(agent)
    kept = "get_ipython().ask_exit.__name__, get_ipython().keepkernel_on_exit, 'left' in dir()"
    assert value(agent, kept) == ("ask_exit", None, False)


def test_one_run_at_a_time(agent: FrontEnd) -> None:
    agent.run("order = []")
    code = "order.append('in')\nawait asyncio.sleep(0.05)\norder.append('out')"
    play(agent, f"await asyncio.gather(*(notebook.run_python({code!r}) for _ in range(3)))")
    assert value(agent, "order") == ["in", "out"] * 3


def test_where_the_cell_blocks_nothing_can_be_awaited(agent: FrontEnd) -> None:
    play(agent, "return await notebook.run_python('await asyncio.sleep(0)')", IN_A_FUNCTION)
    assert "blocks the kernel" in value(agent, "str(played)")


# -- the eight repairs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", CELLS)
def test_the_cells_idle_and_its_later_output_are_its_own(agent: FrontEnd, cell: str) -> None:
    agent.run("%copilot demo: say Before")
    request = begin(
        agent, "return await notebook.run_python('1')", CELLS[cell] + "\nprint('after')" * (cell != "awaited")
    )
    agent.finish(request)
    idle = [m["parent_header"] for m in agent.published if is_status(m, "idle") and parent(m) == request]
    assert [header.get("copilot_run") for header in idle] == [None]
    assert value(agent, "get_ipython().kernel.get_parent('shell')['header'].get('copilot_run')") is None


def test_threads_print_into_the_cell_afterwards(agent: FrontEnd) -> None:
    body = (
        "ended = threading.Event()\n"
        f"def late():\n    ended.wait({LIMIT})\n    print('late words', flush=True)\n"
        "thread = threading.Thread(target=late)\nthread.start()\n"
        "await notebook.run_python('1')\nended.set()\nawait asyncio.to_thread(thread.join)"
    )
    request = begin(agent, body)
    agent.finish(request)
    message = agent.see(lambda m: "late words" in str(m["content"]) and m["msg_type"] == "stream")
    assert (message["parent_header"]["msg_id"], message["parent_header"].get("copilot_run")) == (request, None)


def test_runs_are_numbered_after_the_cell_and_the_next_cell_after_them(agent: FrontEnd) -> None:
    before = agent.run("0").reply["content"]["execution_count"]
    body = "return [(await notebook.run_python(f'{n} * 10')).execution_count for n in (1, 2)]"
    outcome = play(agent, body)
    own = outcome.reply["content"]["execution_count"]
    assert (own, value(agent, "played")) == (before + 1, [before + 2, before + 3])
    after = agent.run("_, Out[_oh and max(_oh)], In[-2]").reply["content"]["execution_count"]
    assert after == before + 4
    assert value(agent, f"Out[{before + 2}], Out[{before + 3}], In[{before + 3}], In[{own}]") == (
        10,
        20,
        "2 * 10",
        value(agent, f"In[{own}]"),
    )


def test_a_second_turn_of_the_cell_counts_on(agent: FrontEnd) -> None:
    before = agent.run("0").reply["content"]["execution_count"]
    line = "%copilot demo: unasked sh wait.sh\n"
    outcome = play(
        agent, "return (await notebook.run_python('1')).execution_count", f"{line}first = played\n{line}'end'"
    )
    assert outcome.reply["content"]["execution_count"] == before + 1
    (result,) = [m["content"] for m in outcome.outputs if m["msg_type"] == "execute_result" and "end" in str(m)]
    assert result["execution_count"] == before + 1
    assert value(agent, "first, played") == (before + 2, before + 3)
    assert agent.run("0").reply["content"]["execution_count"] == before + 4


def test_the_cells_own_result_stays_its_own(agent: FrontEnd) -> None:
    watch = """
results = []
def note(result):
    results.append((result.info.raw_cell[-8:], result.result))
get_ipython().events.register('post_run_cell', note)
"""
    agent.run(watch)
    play(agent, "await notebook.run_python('\"inner\"')", "%copilot demo: unasked sh wait.sh\n'outer'")
    assert value(agent, "[each for each in results if each[1] in ('inner', 'outer')]") == [
        ('"inner"', "inner"),
        ("\n'outer'", "outer"),
    ]
    agent.run("get_ipython().events.callbacks['post_run_cell'].pop()")


def test_a_failure_of_the_run_does_not_make_the_cell_fail(agent: FrontEnd) -> None:
    code = "class Bad:\n    def __repr__(self): raise ValueError\nBad()"
    assert play(agent, f"await notebook.run_python({code!r})").status == "ok"
    assert (
        play(agent, "await notebook.run_python('%load_ext')\nawait notebook.run_python('print?')").reply["content"][
            "payload"
        ]
        == []
    )


def test_figures_are_shown(agent: FrontEnd) -> None:
    agent.run("%matplotlib inline\nimport matplotlib.pyplot as plt", limit=60)
    outcome = play(agent, "return await notebook.run_python('_ = plt.plot([1, 2])')")
    pictures = [m for m in outcome.outputs if "image/png" in m["content"].get("data", {})]
    assert value(agent, "isinstance(played, Exception) and str(played)") is False
    assert (len(pictures), "image/png" in value(agent, "played.outputs[0]['data']")) == (1, True)


# -- ■ --------------------------------------------------------------------------------------------------------------

LONG = {
    "blocking": "import time\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.1)",
    "awaiting": "import asyncio\nprint('begun', flush=True)\nawait asyncio.sleep(60)",
    "awaiting shortly": "import asyncio\nprint('begun', flush=True)\nwhile True:\n    await asyncio.sleep(0)",
    "computing": "print('begun', flush=True)\nwhile True:\n    pass",
}


@pytest.mark.parametrize(("cell", "kind"), [("awaited", kind) for kind in LONG] + [("in a function", "blocking")])
def test_an_interrupt_ends_the_run_and_the_turn_at_once(agent: FrontEnd, cell: str, kind: str) -> None:
    request = begin(agent, f"return await notebook.run_python({LONG[kind]!r})", CELLS[cell])
    queued = agent.execute("1 + 1")
    agent.shows("begun", request)
    agent.process.send_signal(signal.SIGINT)
    outcome = agent.finish(request)
    assert outcome.error == ("Cancelled", "Stopped.")
    (error,) = [m["content"]["ename"] for m in outcome.outputs if m["msg_type"] == "error"][:1]
    assert error in ("KeyboardInterrupt", "CancelledError")  # as in a cell: the second where the code awaits something
    assert agent.finish(queued).status == "aborted"
    assert run(agent, "print('next')")[0]


SLOW_TRANSFORMER = """
import time
def slow(lines):
    if "slow" in lines[0]:
        print("begun", flush=True)
        while True:
            time.sleep(0.1)
    return lines
get_ipython().input_transformers_post.append(slow)
"""


def test_an_interrupt_before_the_code_begins_leaves_the_kernel_alive(agent: FrontEnd) -> None:
    """In the event loop, a KeyboardInterrupt would end it."""
    agent.run(SLOW_TRANSFORMER)
    request = begin(agent, "return await notebook.run_python('ran = \"slow\"')")
    agent.shows("begun", request)
    agent.process.send_signal(signal.SIGINT)
    assert agent.finish(request).error[0] == "Cancelled"
    assert value(agent, "'ran' in dir(), get_ipython().input_transformers_post.pop().__name__") == (False, "slow")


def test_a_run_that_the_agent_cancels_ends_and_the_turn_goes_on(agent: FrontEnd) -> None:
    for kind in ("blocking", "awaiting"):
        body = (
            f"task = asyncio.ensure_future(notebook.run_python({LONG[kind]!r}))\nawait asyncio.sleep(0.3)\n"
            "task.cancel()\nawait asyncio.wait({task})\nreturn task.cancelled(), (await notebook.run_python('7')).ok"
        )
        assert play(agent, body).status == "ok"
        assert value(agent, "played") == (True, True)


CLEANING = (
    "cleaned = False\ntry:\n    begun.set()\n    print('begun', flush=True)\n    await asyncio.sleep(60)\n"
    "finally:\n    await asyncio.sleep(0.5)\n    cleaned = True"
)


def test_a_run_is_over_when_its_code_is_over_however_it_is_cancelled(agent: FrontEnd) -> None:
    """As the gate cancels calls: again and again, until they end."""
    body = (
        f"import anyio\nasync def cancel():\n    await asyncio.to_thread(begun.wait, {LIMIT})\n    scope.cancel()\n"
        "with anyio.CancelScope() as scope:\n    cancelling = asyncio.ensure_future(cancel())\n"
        f"    await notebook.run_python({CLEANING!r})\nreturn get_ipython().user_ns['cleaned']"
    )
    agent.run("begun = threading.Event()")
    assert play(agent, body).status == "ok"
    assert value(agent, "played") is True


def test_no_run_outlives_its_cell(agent: FrontEnd) -> None:
    agent.run("begun = threading.Event()")
    request = begin(agent, f"await notebook.run_python({CLEANING!r})")
    agent.shows("begun", request)
    agent.process.send_signal(signal.SIGINT)
    agent.finish(request)
    start = len(agent.published)
    assert value(agent, "cleaned") is True
    assert {parent(m) for m in agent.published[start:]}.isdisjoint({request})


@pytest.mark.parametrize("cell", CELLS)
def test_the_end_of_the_turn_ends_a_run_that_nobody_cancels(agent: FrontEnd, cell: str) -> None:
    body = (
        f"global left_over\nleft_over = asyncio.ensure_future(notebook.run_python({LONG['blocking']!r}))\n"
        "while not notebook._runs.active:\n    await asyncio.sleep(0.01)"
    )
    assert play(agent, body, CELLS[cell]).status == "ok"
    assert value(agent, "left_over.result().ok") is False


# -- what is the user's ---------------------------------------------------------------------------------------------


def test_input_of_a_run_is_asked_in_the_cell(agent: FrontEnd) -> None:
    request = begin(agent, "return await notebook.run_python('name = input(\"Who? \")')")
    asked = agent.type("Ada")
    assert (asked["content"]["prompt"], parent(asked)) == ("Who? ", request)
    assert agent.finish(request).status == "ok"
    assert value(agent, "name") == "Ada"


def test_a_task_of_the_users_goes_on(agent: FrontEnd) -> None:
    agent.run(
        "ticks = 0\nasync def tick():\n    global ticks\n    while True:\n        ticks += 1\n"
        "        await asyncio.sleep(0.01)\ntask = asyncio.create_task(tick())"
    )
    code = "enough = ticks + 5\nwhile ticks < enough:\n    await asyncio.sleep(0.01)"
    assert run(agent, code)[0]
    assert value(agent, "(task.done(), task.cancel())") == (False, True)


# -- variables ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", CELLS)
def test_variables_are_read_where_the_cell_waits(agent: FrontEnd, cell: str) -> None:
    agent.run("numbers = [1, 2, 3]")
    play(
        agent,
        "return (await notebook.list_variables('numbers'))[0], await notebook.inspect_variable('numbers', '[0]', 5)",
        CELLS[cell],
    )
    assert value(agent, "played[0].value, played[1]") == ("[1, 2, 3]", "numbers[0]: int\n1")


def test_while_code_blocks_the_kernel_is_busy(agent: FrontEnd) -> None:
    agent.run("from copilot_kernel.ipython import cell_thread\ncell_thread.BUSY_SECONDS = 0.2")
    body = (
        f"{BLOCKED}try:\n    await notebook.list_variables('')\nexcept Exception as error:\n"
        "    return type(error).__name__\nfinally:\n    released.set()\n    await task"
    )
    play(agent, body)
    assert value(agent, "played") == "KernelBusy"
    agent.run("cell_thread.BUSY_SECONDS = 5.0")


def test_the_error_of_the_cell_before_is_known(agent: FrontEnd) -> None:
    agent.run("async def script(notebook):\n    return await notebook.last_error()")
    agent.run("1 / 0", cell_id="failing")
    agent.run("'what a front end asks'", silent=True, store_history=False)
    agent.run(CELL)
    source, traceback, cell = value(agent, "(played.source, played.traceback, played.cell_id)")
    assert (source, "ZeroDivisionError" in traceback, "\x1b" in traceback, cell) == ("1 / 0", True, False, "failing")
