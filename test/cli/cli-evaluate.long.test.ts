/** `evaluate` on the command line, over one ledger and a scripted endpoint on loopback. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type Evaluation } from '../../src/index.js'
import { runCli, type CliResult } from '../support/cli.js'
import { SMALL, talk } from '../support/conversations.js'
import { jsonAs } from '../support/json.js'
import type { OpenAiStub } from '../support/openai-stub.js'
import { startPlausibleEndpoint } from '../support/plausible-endpoint.js'

// Each command is a process that opens a database.
jest.setTimeout(240_000)

let folder: string
let stub: OpenAiStub
const run = (...words: string[]): Promise<CliResult> =>
  runCli(['evaluate', ...words], {
    cwd: folder,
    env: { CONTEXT_LEDGER_BASE_URL: stub.baseUrl, CONTEXT_LEDGER_ACTOR: 'ada@night' },
  })
const charged = (): number => stub.calls.filter(({ path }) => path.endsWith('/chat/completions')).length

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-cli-evaluate-'))
  stub = await startPlausibleEndpoint(['scripted-1'])
  await writeFile(join(folder, 'mine.txt'), 'Sum up:\n{messages}\n')
  await writeFile(join(folder, 'q.jsonl'), '{"question":"What is the last message?","evidence":["m39"]}\n')
  await writeFile(
    join(folder, 'prices.json'),
    JSON.stringify({ 'scripted-1': { promptPerMillion: 1_000, completionPerMillion: 2_000, currency: 'EUR' } }),
  )
  const ledger = await openLedger({
    store: join(folder, '.context-ledger'),
    policy: { ...SMALL, maxSummaryTokens: 60 },
  })
  for (const id of ['first', 'second']) await ledger.append(id, talk(40))
  await ledger.admin.waitForCompaction()
  await ledger.close()
})
afterAll(async () => {
  await stub.close()
  await rm(folder, { recursive: true, force: true })
})

describe('evaluate', () => {
  it('compares policies without a model, and buys nothing', async () => {
    const { status, stdout } = await run(
      '--all',
      '--policy',
      'chunkSize=3',
      '--policy',
      'chunkSize=8',
      '--questions',
      'q.jsonl',
    )
    expect(status).toBe(0)
    expect(stdout).toContain('2 candidates over 2 conversations, 80 messages')
    expect(stdout).toMatch(/extractive, chunkSize=3 +[0-9a-f]{12} +0 +0 /u)
    expect(stdout).toMatch(/evidence \(2\) +with one search\n.* 100 % +100 %/u)
    expect(stdout).toMatch(
      /adopt extractive, chunkSize=8: context-ledger editions adopt [0-9a-f]{12} --summarizer extractive --policy chunkSize=8 first second/u,
    )
    expect(stub.calls).toHaveLength(0)
  })

  it('estimates first, asks for --yes, and then makes editions that can be adopted as it says', async () => {
    const words = ['first', '--strategy', 'fold-in', '--strategy', 'structured', '--model', 'scripted-1']
    const unconfirmed = await run(...words)
    expect([unconfirmed.status, charged()]).toEqual([2, 0])
    expect(unconfirmed.stdout).toMatch(/fold-in, scripted-1 +[0-9a-f]{12} +\d+/u)
    expect(unconfirmed.stderr).toContain('nothing was done: pass --yes to start')

    const made = await run(...words, '--yes', '--html', 'report.html', '--policy', 'keepRecent=3')
    expect(made.status).toBe(0)
    expect(charged()).toBeGreaterThan(0)
    const adopt = /adopt structured, scripted-1, keepRecent=3: context-ledger (.+)/u.exec(made.stdout)?.[1] ?? ''
    const adopted = await runCli(adopt.split(' '), { cwd: folder })
    expect([adopted.status, adopted.stdout]).toEqual([0, expect.stringMatching(/^first "[^"]*": now active/u)])

    const html = await readFile(join(folder, 'report.html'), 'utf8')
    expect(html).toContain('default-src &#39;none&#39;')
    expect(html).not.toContain('<script')
    expect(html).toContain('structured, scripted-1, keepRecent=3')
    const bought = charged()
    const second = await run(...words, '--yes', '--html', 'report.html')
    expect([second.status, second.stderr]).toEqual([2, expect.stringContaining('report.html already exists')])
    expect(charged()).toBe(bought)
  })

  it('prints one document with --json, with the bound over all candidates in it', async () => {
    const words = ['second', '--strategy', 'fold-in', '--strategy', 'structured', '--model', 'scripted-1']
    const { status, stdout } = await run(...words, '--json', '--yes', '--prices', 'prices.json', '--max-cost', '1.2')
    const { candidates } = jsonAs<Evaluation & { candidates: readonly { adopt: string }[] }>(stdout)
    expect(candidates.map(({ name }) => name)).toEqual(['extractive', 'fold-in, scripted-1', 'structured, scripted-1'])
    const micros = candidates.reduce((sum, { spent }) => sum + (spent.costMicros ?? 0), 0)
    expect(micros).toBeLessThanOrEqual(1_200_000)
    expect(status).toBe(3)
    expect(candidates.at(-1)?.failures[0]).toMatchObject({
      failure: 'CandidateHasNoRoom',
      detail: 'the bound on spending has no room for its next call',
    })
  })

  it.each<[string, readonly string[], string]>([
    [
      'an unknown model',
      ['first', '--model', 'scripted-2', '--yes'],
      'the endpoint lists scripted-1 (did you mean scripted-1?)',
    ],
    ['an unknown strategy', ['first', '--strategy', 'fold-out', '--yes'], 'fold-out'],
    ['an unknown conversation', ['frist', '--yes'], 'The nearest:\n  first'],
    [
      'a prompt that is not there',
      ['first', '--model', 'scripted-1', '--prompt', 'mien.txt', '--yes'],
      'does not exist',
    ],
    [
      'a cost without a price',
      ['first', '--model', 'scripted-1', '--max-cost', '1', '--yes'],
      '--max-cost needs the price',
    ],
    ['questions that are not there', ['first', '--questions', 'none.jsonl'], 'does not exist'],
    ['no conversation', [], 'name conversations, or pass --all'],
  ])('refuses %s before anything is bought', async (_name, words, message) => {
    const bought = charged()
    const { status, stderr } = await run(...words)
    expect([status, stderr]).toEqual([2, expect.stringContaining(message)])
    expect(charged()).toBe(bought)
  })
})
