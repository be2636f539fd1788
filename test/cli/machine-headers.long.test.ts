/** The header line of archived batches, such as `[depth:0|start:…]`, is for tools: no command prints it as text. */
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCli } from '../support/cli.js'

// Each command opens a database, which takes seconds on a busy machine.
jest.setTimeout(180_000)

const SAMPLE = join(process.cwd(), 'examples', 'sample-conversation.jsonl')
const ID = 'sample-harbour'
let folder: string

const printed = async (words: readonly string[]): Promise<string> => {
  const { status, stdout, stderr } = await runCli(words, { cwd: folder })
  expect({ words, status, stderr: status === 0 ? '' : stderr }).toEqual({ words, status: 0, stderr: '' })
  return stdout
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'machine-headers-'))
  await printed(['import', SAMPLE, '--model-max-tokens', '2400', '--buffer', '2'])
})
afterAll(async () => {
  await rm(folder, { recursive: true })
})

it('is in no text that a command prints about a compacted conversation', async () => {
  const context = await printed(['context', ID])
  expect(context).toContain('[Context Summary — ')
  const [batchId = ''] = /batch-[0-9a-f]{20}/u.exec(await printed(['explain', ID])) ?? []
  const texts = [
    context,
    await printed(['explain', ID, '--batch', batchId, '--open']),
    await printed(['search', 'harbour booking', '--conversation', ID]),
    await printed(['diff', ID, '--cycle', '1']),
  ]
  expect(texts.join('')).toContain('user: Morning, Ines here.')
  expect(texts.filter((text) => text.includes('[depth:'))).toEqual([])
})
