/** Tool calls in one line: the changed lines of the edit tools of each program, and exit codes. */
import { describe, expect, it } from '@jest/globals'
import { exitCodeOf, toolSummary } from '../../src/interfaces/page/reading/tool-summary.js'

const PATCH = [
  '*** Begin Patch',
  '*** Update File: src/date.ts',
  '@@ export function day()',
  ' const a = 1',
  '-const b = 2',
  '+const b = 3',
  '+const c = 4',
  '*** End Patch',
].join('\n')
const UNIFIED = [
  '--- a/x.sql',
  '+++ b/x.sql',
  '@@ -1,2 +1,2 @@',
  ' select 1;',
  '--- an old comment',
  '+-- a new comment',
].join('\n')

const summaryOf = (name: string, args: unknown): ReturnType<typeof toolSummary> =>
  toolSummary({ id: 'c', name, arguments: typeof args === 'string' ? args : JSON.stringify(args) })
const [before, after] = ['a\nb\nc', 'a\nB\nc\nd']

describe('the lines that an edit changes', () => {
  it.each([
    ['Claude Code', 'Edit', { file_path: 'src/date.ts', old_string: before, new_string: after }, 2, 1],
    [
      'Claude Code',
      'MultiEdit',
      {
        file_path: 'a.ts',
        edits: [
          { old_string: 'x', new_string: 'y' },
          { old_string: 'p', new_string: 'q' },
        ],
      },
      2,
      2,
    ],
    ['Claude Code', 'Write', { file_path: 'a.ts', content: 'one\ntwo\n' }, 2, 0],
    ['Claude Code', 'NotebookEdit', { notebook_path: 'a.ipynb', new_source: 'print(1)' }, 1, 0],
    ['Codex', 'apply_patch', PATCH, 2, 1],
    ['Codex', 'shell', { command: ['apply_patch', PATCH] }, 2, 1],
    ['Codex', 'exec_command', { cmd: `apply_patch <<'EOF'\n${PATCH}\nEOF` }, 2, 1],
    ['opencode', 'edit', { filePath: 'a.ts', oldString: before, newString: after }, 2, 1],
    ['opencode', 'apply_patch', { patchText: PATCH }, 2, 1],
    ['Gemini CLI', 'replace', { file_path: 'a.ts', old_string: before, new_string: after, instruction: 'do' }, 2, 1],
    ['Gemini CLI', 'write_file', { file_path: 'a.md', content: 'one' }, 1, 0],
    ['pi', 'edit', { path: 'a.ts', edits: [{ oldText: before, newText: after }] }, 2, 1],
    ['OpenHands', 'str_replace_editor', { command: 'create', path: '/a.py', file_text: 'x\ny' }, 2, 0],
    ['OpenHands', 'str_replace_editor', { command: 'insert', path: '/a.py', insert_line: 3, new_str: 'x' }, 1, 0],
    ['OpenHands', 'str_replace_editor', { command: 'view', path: '/a.py' }, 0, 0],
    [
      'Cline',
      'replace_in_file',
      { path: 'a.ts', diff: `------- SEARCH\n${before}\n=======\n${after}\n+++++++ REPLACE` },
      2,
      1,
    ],
    [
      'Roo',
      'apply_diff',
      { path: 'a.ts', diff: `<<<<<<< SEARCH\n:start_line:3\n-------\n${before}\n=======\n${after}\n>>>>>>> REPLACE` },
      2,
      1,
    ],
    ['a unified diff', 'apply_patch', UNIFIED, 1, 1],
    ['the sample', 'edit_file', { path: 'a.ts', old: before, new: after }, 2, 1],
  ] as const)('%s, %s', (_program, name, args, added, removed) => {
    const summary = summaryOf(name, args)
    expect([summary.added, summary.removed]).toEqual([added, removed])
    expect(summary.subject).not.toMatch(/^[[{]/u)
  })

  it('a patch of several files names each', () => {
    const two = PATCH.replace('*** End Patch', '*** Delete File: src/old.ts\n*** End Patch')
    const texts = summaryOf('apply_patch', two).changes.flatMap(({ kind, text }) => (kind === 'same' ? [text] : []))
    expect(texts).toEqual(['Update src/date.ts', 'const a = 1', 'Delete src/old.ts'])
  })
})

describe('what a call is about', () => {
  it.each([
    ['run', { cmd: 'npm test' }, 'npm test'],
    ['todowrite', { todos: [{ content: 'Write it', status: 'open' }, { content: 'Test it' }] }, '2: Write it'],
    ['finish', {}, ''],
    ['mine', { deep: { deeper: ['', 'here'] } }, 'here'],
  ] as const)('%s', (name, args, subject) => {
    expect(summaryOf(name, args).subject).toBe(subject)
  })
})

describe('the exit code of a command', () => {
  it('is the recorded one, whatever its output says', () => {
    expect(exitCodeOf({ text: 'exit code 1', attributes: { exitCode: 0 } })).toBe(0)
  })

  it.each([
    ['Exit code 2\nno such file', 2],
    ['Process exited with code 0\nOutput:\nfine', 0],
    ['Error: Exit code 127', 127],
    ['<returncode>1</returncode>', 1],
    ['exit code 1\n✓ test/a.test.ts', 1],
    ['the exit code is explained on page 12', undefined],
    ['const exit_code = 3', undefined],
  ])('else that of the first or last lines: %j', (text, code) => {
    expect(exitCodeOf({ text, attributes: {} })).toBe(code)
  })
})
