/** The error of a failed call is what failed: not a line of the code that the tool shows, and not a total. */
import { expect, it } from '@jest/globals'
import { failuresIn } from '../../src/application/loss-report/failures.js'
import { worksOf } from '../../src/application/loss-report/tool-calls.js'
import type { ReportMessage } from '../../src/application/loss-report/report-input.js'

/** The tool, its output, and the part of it that names what failed. */
const OUTPUTS: readonly (readonly [tool: string, output: string, failure: string])[] = [
  [
    'rustc',
    'error[E0425]: cannot find value `berth` in this scope\n  --> src/main.rs:4:13\n   |\n4  |     let x = Error(berth);\n   |             ^^^^^ not found in this scope\n\nerror: aborting due to 1 previous error\n',
    'cannot find value `berth`',
  ],
  [
    'a box',
    "╭───────────────────────────────╮\n│ Error: Cannot find module 'x' │\n╰───────────────────────────────╯\n",
    "Cannot find module 'x'",
  ],
  [
    'tsc',
    "src/a.ts:12:7 - error TS2322: Type 'string' is not assignable to type 'number'.\n\n12 const error: number = new TypeError('x').message;\n         ~~~~~\n\nFound 1 error in src/a.ts:12\n",
    'TS2322',
  ],
  [
    'jest',
    "FAIL test/quay.test.ts\n  ● quay › counts\n\n    TypeError: berths.map is not a function\n\n      11 | function count(berths) {\n    > 12 |   throw new RangeError('foo(bar)')\n         |         ^\n      13 | }\n",
    'TypeError: berths.map is not a function',
  ],
  [
    'node',
    "file:///srv/a.js:3\n    throw new RangeError('too many: ' + n)\n    ^\n\nRangeError: too many: 7\n    at count (file:///srv/a.js:3:11)\n",
    'RangeError: too many: 7',
  ],
  [
    'python',
    'Traceback (most recent call last):\n  File "/srv/a.py", line 3, in <module>\n    raise ValueError("bad berth: " + name)\n    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\nValueError: bad berth: 7\n',
    'ValueError: bad berth: 7',
  ],
  [
    'python-old',
    'Traceback (most recent call last):\n  File "/srv/a.py", line 3, in <module>\n    raise ValueError("bad berth: " + name)\nValueError: bad berth: 7\n',
    'ValueError: bad berth: 7',
  ],
  [
    'pytest',
    "    def test_quay():\n        try:\n            berth(7)\n        except KeyError:\n>           raise RuntimeError('no berth')\nE           RuntimeError: no berth\n\ntest_quay.py:9: RuntimeError\n=== 1 failed in 0.1s ===\n",
    'RuntimeError: no berth',
  ],
  [
    'babel',
    'SyntaxError: /srv/a.js: Unexpected token, expected "," (3:10)\n\n  1 | foo(\n  2 |   Error(\n> 3 |   bar baz\n    |       ^\n',
    'SyntaxError: /srv/a.js: Unexpected token',
  ],
  [
    'esbuild',
    '✘ [ERROR] Could not resolve "./berth"\n\n    src/a.ts:1:22:\n      1 │ import { Error } from "./berth"\n        ╵                       ~~~~~~~~~\n\n1 error\n',
    'Could not resolve "./berth"',
  ],
  ['go', '# harbour\n./main.go:9:2: undefined: berth\n', 'undefined: berth'],
  ['gotest', '--- FAIL: TestQuay (0.00s)\n    quay_test.go:12: got 3, want 4\nFAIL\nexit status 1\n', 'FAIL: TestQuay'],
  [
    'eslint',
    "/srv/a.js\n  3:7  error  'berth' is assigned a value but never used  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)\n",
    "'berth' is assigned",
  ],
  [
    'javac',
    'Quay.java:4: error: cannot find symbol\n    throw new BerthException(x);\n              ^\n  symbol: class BerthException\n1 error\n',
    'cannot find symbol',
  ],
  [
    'gcc',
    "quay.c: In function 'main':\nquay.c:4:5: error: 'berth' undeclared (first use in this function)\n    4 |     error(berth);\n      |           ^~~~~\n",
    "'berth' undeclared",
  ],
  [
    'clang',
    "quay.c:4:5: error: use of undeclared identifier 'berth'\n    error(berth);\n    ^\n1 error generated.\n",
    'use of undeclared identifier',
  ],
  [
    'ruby',
    'quay.rb:3:in `count\': bad berth (RuntimeError)\n\n    raise RuntimeError, "x"\n    ^^^^^\n',
    'bad berth (RuntimeError)',
  ],
  [
    'php',
    'PHP Fatal error:  Uncaught TypeError: count(): Argument #1 must be of type array in /srv/a.php:3\n',
    'Uncaught TypeError',
  ],
  [
    'swift',
    "quay.swift:3:9: error: cannot find 'berth' in scope\nlet x = berth\n        ^~~~~\n",
    "cannot find 'berth' in scope",
  ],
  [
    'kotlin',
    'e: file:///srv/Quay.kt:3:9 Unresolved reference: berth\nerror: compilation failed\n',
    'Unresolved reference',
  ],
  [
    'vitest',
    " FAIL  quay.test.ts > counts\nAssertionError: expected 3 to be 4 // Object.is equality\n ❯ quay.test.ts:5:17\n      3| it('counts', () => {\n      4|   if (x) throw new Error('x')\n      5|   expect(3).toBe(4)\n       |             ^\n",
    'AssertionError: expected 3 to be 4',
  ],
  [
    'oxlint',
    "  × eslint(no-debugger): `debugger` statement is not allowed\n   ╭─[a.js:1:1]\n 1 │ debugger; throw Error('x')\n   · ─────────\n   ╰────\nFound 0 warnings and 1 error.\n",
    '`debugger` statement is not allowed',
  ],
  ['csharp', "Quay.cs(4,9): error CS0103: The name 'berth' does not exist in the current context\n", 'CS0103'],
  [
    'mypy',
    'quay.py:3: error: Name "berth" is not defined  [name-defined]\nFound 1 error in 1 file\n',
    'is not defined',
  ],
  [
    'ruff',
    'quay.py:3:5: F821 Undefined name `berth`\n  |\n3 |     raise Error(berth)\n  |                 ^^^^^ F821\n  |\nFound 1 error.\n',
    'Undefined name',
  ],
  [
    'deno',
    'error: Uncaught (in promise) TypeError: x is not a function\n    throw new Error(x())\n                    ^\n    at file:///a.ts:3:5\n',
    'TypeError: x is not a function',
  ],
  [
    'zig',
    "quay.zig:3:5: error: use of undeclared identifier 'berth'\n    return error.Berth;\n    ^~~~~\n",
    'undeclared identifier',
  ],
  [
    'elixir',
    '** (ArgumentError) argument error: bad berth\n    quay.ex:3: Quay.count/1\n',
    'argument error: bad berth',
  ],
]

const called = (id: string, command: string): ReportMessage => ({
  messageId: `call of ${command}`,
  revision: 1,
  role: 'assistant',
  text: '',
  ownText: '',
  tokens: 1,
  toolCalls: [{ id, name: 'Bash', arguments: JSON.stringify({ command }) }],
})
const returned = (id: string, text: string, isError = false): ReportMessage => ({
  messageId: `result ${text}`,
  revision: 2,
  role: 'tool',
  text,
  ownText: text,
  tokens: 1,
  toolCallId: id,
  isError,
})

it.each(OUTPUTS)('%s', (_tool, output, failure) => {
  const works = worksOf([called('c', 'npm test'), returned('c', `Exit code 1\n${output}`, true)])
  expect(failuresIn(works).map(({ text }) => text)).toEqual([expect.stringContaining(failure)])
})

it('a call id that is used again has its own result', () => {
  const works = worksOf([called('0', 'ls a'), returned('0', 'a1'), called('0', 'ls b'), returned('0', 'b1')])
  expect(works.map(({ result }) => result?.text)).toEqual(['a1', 'b1'])
})
