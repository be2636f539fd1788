/** The commands of `docs/guides/forgotten.md`: the example session, and what its compaction forgot. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCli } from '../support/cli.js'
import { longTest } from '../support/length.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

const EXAMPLE = join(process.cwd(), 'examples', 'claude-code-session.jsonl')
const ID = 'claude-code/3f0c2a54-7d1e-4b0a-9a86-5d0f2c7e9b11'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'forgotten-example-'))
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

it('prints the output that the page shows', async () => {
  const page = await readFile(join('docs', 'guides', 'forgotten.md'), 'utf8')
  const example = /```text\n([\s\S]*?)```/u.exec(page)?.[1] ?? ''
  expect((await runCli(['import', EXAMPLE], { cwd: folder })).status).toBe(0)
  const { stdout } = await runCli(['forgotten', ID], { cwd: folder })
  const lines = example.split('\n').filter((line) => line.trim() !== '' && line.trim() !== '…')
  expect(lines.length).toBeGreaterThan(5)
  for (const line of lines) expect(stdout).toContain(line)
})

longTest('works with every other command of the page', async () => {
  for (const words of [
    ['context', ID, '--at', '29'],
    ['diff', ID, '--cycle', '1'],
    ['search', 'production', '--conversation', ID],
    ['explain', ID, '--line', 'page by (changed_at'],
    ['replay', ID, '--model-max-tokens', '4000', '--yes'],
    ['forgotten', '--all'],
    ['verify'],
  ]) {
    const { status, stderr } = await runCli(words, { cwd: folder })
    expect({ words, status, stderr: status === 0 ? '' : stderr }).toEqual({ words, status: 0, stderr: '' })
  }
})

it('writes the report as one file to send: proofs, the cost of each pair, and the measure before', async () => {
  const { status, stdout } = await runCli(['forgotten', ID, '--html', 'one.html', '--json'], { cwd: folder })
  const report = await readFile(join(folder, 'one.html'), 'utf8')
  expect([status, JSON.parse(stdout)]).toEqual([
    0,
    { file: 'one.html', conversationId: ID, compactions: 1, bytes: Buffer.byteLength(report) },
  ])
  expect(report).toContain(
    'Never touch the production database: work on the copy at db-copy.harbour.example, port 5544.',
  )
  expect(report).toMatch(/summary line \d/u)
  expect(report).toMatch(/repeated in <span class="facts" title="event 33">turn 2</u)
  expect(report).toMatch(/Repeated within \d+ messages before: [^.]*; after: [^.]*\./u)
  expect(report).toContain('claude-code 2.1.50')
  // The file runs no script, loads nothing, and links only to itself.
  expect(report).toContain('default-src &#39;none&#39;; style-src &#39;sha256-')
  expect(report).not.toMatch(/<script|href="(?!#)/u)
  expect((await runCli(['forgotten', '--all', '--html', 'all.html'], { cwd: folder })).stdout).toBe(
    'wrote all.html: what 1 compaction of all conversations forgot\n',
  )
})

it('rejects an existing file, an unwritable path and a missing cycle, and leaves no file', async () => {
  const before = (await readdir(folder)).toSorted()
  for (const [words, message] of [
    [['--html', 'one.html'], 'already exists'],
    [['--html', 'nowhere/one.html'], 'nowhere/one.html cannot be written: '],
    [['--html', ''], 'needs a file name'],
    [['--cycle', '7', '--html', 'seven.html'], 'the conversation has no cycle 7'],
  ] as const) {
    const { status, stderr } = await runCli(['forgotten', ID, ...words], { cwd: folder })
    expect({ words, status, stderr }).toEqual({ words, status: 2, stderr: expect.stringContaining(message) })
  }
  expect((await readdir(folder)).toSorted()).toEqual(before)
})
