/** The walk of `docs/forgotten.md`: the example session, and what its compaction forgot. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCli } from '../support/cli.js'

const EXAMPLE = join(process.cwd(), 'examples', 'claude-code-session.jsonl')
const ID = 'claude-code/3f0c2a54-7d1e-4b0a-9a86-5d0f2c7e9b11'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'forgotten-example-'))
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

it('shows what the page says it shows', async () => {
  const page = await readFile(join('docs', 'forgotten.md'), 'utf8')
  const shown = /```text\n([\s\S]*?)```/u.exec(page)?.[1] ?? ''
  expect((await runCli(['import', EXAMPLE], { cwd: folder })).status).toBe(0)
  const { stdout } = await runCli(['forgotten', ID], { cwd: folder })
  const lines = shown.split('\n').filter((line) => line.trim() !== '' && line.trim() !== '…')
  expect(lines.length).toBeGreaterThan(5)
  for (const line of lines) expect(stdout).toContain(line)
})

it('has every other command of the page work on it', async () => {
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
