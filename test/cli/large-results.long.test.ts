/** Large results of short words, quotes or backslashes: memory and time grow with their bytes. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnCli } from '../support/cli.js'

const ID = '01990000-0000-7000-8000-00000000000a'
/** Enough memory for a few copies of the text, but not for a list with one item per byte. */
const HEAP_MB = 200

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'large-results-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

const rollout = (output: string): string =>
  [
    {
      type: 'session_meta',
      payload: { id: ID, timestamp: '2026-03-10T07:59:59.000Z', cwd: '/srv', cli_version: '0.142.0' },
    },
    {
      type: 'response_item',
      payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'run' }] },
    },
    { type: 'response_item', payload: { type: 'function_call', name: 'exec', arguments: '{}', call_id: 'c' } },
    { type: 'response_item', payload: { type: 'function_call_output', call_id: 'c', output } },
  ]
    .map((line) => `${JSON.stringify({ timestamp: '2026-03-10T08:00:00.000Z', ...line })}\n`)
    .join('')

it.each([
  ['short words', 'y\n'.repeat(6_000_000)],
  ['quotes and backslashes', '"\\'.repeat(4_000_000)],
])(`an import of a large result of %s needs a heap of less than ${String(HEAP_MB)} MB`, async (name, text) => {
  const file = join(folder, `rollout-2026-03-10T08-00-00-${ID}.jsonl`)
  await writeFile(file, rollout(text))
  const options = { cwd: folder, env: { NODE_OPTIONS: `--max-old-space-size=${String(HEAP_MB)}` } }
  const store = ['--store', join(folder, name)]
  const imported = await spawnCli(['import', file, ...store], options)
  expect([imported.status, imported.stdout]).toEqual([0, expect.stringContaining('3 messages')])
  const verified = await spawnCli(['verify', ...store], options)
  expect(verified.status).toBe(0)
})
