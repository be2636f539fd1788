/**
 * kill -9 at random moments of an import whose compaction calls a model: the repeated command continues, loses and
 * repeats no message, and buys no recorded summary again. `CONTEXT_LEDGER_TEST_KILLS` is the number of kills (default 3).
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../../src/index.js'
import { startCli } from '../support/cli.js'
import { startOpenAiStub, stubAnswers, type OpenAiStub, stubFlags } from '../support/openai-stub.js'

const KILLS = Number(process.env['CONTEXT_LEDGER_TEST_KILLS'] ?? 3)
const MESSAGES = 40 * KILLS + 120

let folder: string
let stub: OpenAiStub

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-kill-'))
  stub = await startOpenAiStub(stubAnswers.text('Some steps were done, and none failed.'))
})
afterAll(async () => {
  await stub.close()
  await rm(folder, { recursive: true, force: true })
})

/** Runs the import to its end, or until it is killed. */
async function runImport(file: string, killAfterMs?: number): Promise<{ code: number | null; output: string }> {
  const words = [
    'import',
    file,
    '--store',
    join(folder, 'ledger'),
    '--model-max-tokens',
    '1200',
    '--chunk-size',
    '6',
    '--chunk-min-tokens',
    '0',
    ...stubFlags(stub.baseUrl),
  ]
  const child = startCli(words)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => {
      output += text.toString()
    })
  const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve)
  })
  clearTimeout(timer)
  return { code, output }
}

describe('an import that is killed', () => {
  it(
    `continues with the same command after each of ${String(KILLS)} kills`,
    async () => {
      const file = join(folder, 'long.jsonl')
      const lines = Array.from({ length: MESSAGES }, (_, at) =>
        JSON.stringify({
          id: `m${String(at)}`,
          role: at % 2 === 0 ? 'user' : 'assistant',
          content: `Step ${String(at)} of the long job is done; it touched file src/part-${String(at)}.ts and needed ${String(at * 7)} ms.`,
        }),
      )
      await writeFile(file, `${JSON.stringify({ type: 'conversation', id: 'long' })}\n${lines.join('\n')}\n`)

      let killed = 0
      const codes: (number | null)[] = []
      for (let kill = 0; kill < KILLS; kill += 1) {
        const { code } = await runImport(file, 500 + Math.random() * 1_500)
        if (code === null) killed += 1
        codes.push(code)
      }
      // A run that was not killed had finished before.
      expect(new Set(codes)).toEqual(new Set(codes.map((code) => (code === null ? null : 0))))
      const last = await runImport(file)
      expect([last.code, last.output]).toEqual([0, expect.any(String)])

      const ledger = await openLedger({ store: join(folder, 'ledger') })
      try {
        const messages: string[] = []
        let summaries = 0
        for await (const event of ledger.log('long')) {
          if (event.type === 'MessageAppended') messages.push(event.data.messageId)
          if (event.type === 'ChunkSummarized' || event.type === 'BatchesResummarized') summaries += 1
        }
        expect(messages).toEqual(Array.from({ length: MESSAGES }, (_, at) => `m${String(at)}`))
        expect(summaries).toBeGreaterThan(0)
        expect(stub.calls.length).toBeLessThanOrEqual(summaries + killed)
        expect((await ledger.admin.verify()).problems).toEqual([])
        // Figures for manual runs with many kills.
        process.stdout.write(
          `${String(killed)} kills, ${String(summaries)} summaries recorded, ${String(stub.calls.length)} calls\n`,
        )
      } finally {
        await ledger.close()
      }
    },
    (KILLS + 4) * 30_000,
  )
})
