/** `replay`, `editions` and `prompts` on the command line, over one ledger and a model on a local server. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runReplay, type ReplayCommand } from '../../src/interfaces/cli/replay/make-edition.js'
import { openLedger } from '../../src/index.js'
import { runCli, type CliResult } from '../support/cli.js'
import { SMALL, talk } from '../support/conversations.js'
import { startOpenAiStub, stubAnswers, type OpenAiStub } from '../support/openai-stub.js'

// Each command is a process that opens a database, which takes seconds.
jest.setTimeout(240_000)

let folder: string
let stub: OpenAiStub
const run = (...words: string[]): Promise<CliResult> =>
  runCli(words, {
    cwd: folder,
    env: {
      CONTEXT_LEDGER_SUMMARIZER: 'openai',
      CONTEXT_LEDGER_MODEL: 'stub-1',
      CONTEXT_LEDGER_BASE_URL: stub.baseUrl,
      CONTEXT_LEDGER_API_KEY: 'test',
      CONTEXT_LEDGER_ACTOR: 'ada@night',
    },
  })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-cli-replay-'))
  stub = await startOpenAiStub(stubAnswers.text('Some berths were booked.'))
  await writeFile(join(folder, 'mine.txt'), 'Sum up:\n{messages}\n')
  await writeFile(
    join(folder, 'prices.json'),
    JSON.stringify({ 'stub-1': { promptPerMillion: 1_000, completionPerMillion: 2_000, currency: 'EUR' } }),
  )
  const ledger = await openLedger({ store: join(folder, '.context-ledger'), policy: SMALL })
  for (const id of ['first', 'second']) await ledger.append(id, talk(40))
  await ledger.admin.waitForCompaction()
  await ledger.close()
})
afterAll(async () => {
  await stub.close()
  await rm(folder, { recursive: true, force: true })
})

describe('an edition on the command line', () => {
  it('is estimated, bounded, made, shown, adopted, put back and dropped', async () => {
    const estimate = await run('replay', '--all', '--prompt', 'mine.txt', '--prices', 'prices.json')
    expect(estimate.status).toBe(2)
    expect(estimate.stdout).toMatch(
      /edition [0-9a-f]{12}: 2 conversations; 80 of 80 messages to process\nat most \d+ model calls, .* EUR/u,
    )
    expect(estimate.stderr).toContain('nothing was done: pass --yes to start')
    expect(stub.calls).toHaveLength(0)

    const bounded = await run(
      'replay',
      '--all',
      '--prompt',
      'mine.txt',
      '--prices',
      'prices.json',
      '--yes',
      '--max-cost',
      '1.5',
      '--concurrency',
      '1',
    )
    // The estimate is printed first, with or without --yes.
    expect(bounded.stdout.startsWith(estimate.stdout)).toBe(true)
    expect([bounded.status, bounded.stdout]).toEqual([
      3,
      expect.stringMatching(
        /the limit of 1\.50 EUR does not allow the next call: .* run the same command with a higher --max-cost/u,
      ),
    ])
    // 120 prompt tokens and 30 completion tokens cost 0.18 per call.
    expect(stub.calls.length).toBeGreaterThan(0)
    expect(stub.calls.length * 0.18).toBeLessThanOrEqual(1.5)

    // Tokens of earlier runs count against a cost limit at the current price, even if those runs had no price.
    const bought = stub.calls.length
    const tokens = 150 * bought
    expect(
      (await run('replay', '--all', '--prompt', 'mine.txt', '--yes', '--max-tokens', String(tokens))).stdout,
    ).toContain(`${tokens.toLocaleString('en-US')} tokens on this edition in total`)
    const refused = await run(
      'replay',
      '--all',
      '--prompt',
      'mine.txt',
      '--prices',
      'prices.json',
      '--yes',
      '--max-cost',
      '0.01',
    )
    expect([refused.status, refused.stdout]).toEqual([
      3,
      expect.stringContaining(
        `0 summaries recorded, 0 of them reused; 0 calls, 0 tokens (0.0000 EUR); ${tokens.toLocaleString('en-US')} tokens (${(0.18 * bought).toFixed(2)} EUR) on this edition in total`,
      ),
    ])
    expect(stub.calls).toHaveLength(bought)

    const made = await run('replay', '--all', '--prompt', 'mine.txt', '--yes', '--json')
    expect(made.status).toBe(0)
    const { editionId, conversations, estimate: estimateBefore } = parse(made)
    // The estimate excludes the summaries that the limited run has recorded.
    expect(estimateBefore?.editionId).toBe(editionId)
    expect(estimateBefore?.calls).toBeGreaterThanOrEqual(stub.calls.length - bought)
    expect(conversations.map(({ conversationId, outcome, messages }) => [conversationId, outcome, messages])).toEqual([
      ['first', 'done', 40],
      ['second', 'done', 40],
    ])
    const calls = stub.calls.length

    // The same prompt by its recorded name gives the same edition, so no call is needed.
    const sameByName = await run('replay', 'first', '--prompt', 'mine@1', '--yes')
    expect(sameByName).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(
        `next: context-ledger editions compare ${editionId}; context-ledger editions adopt ${editionId} first`,
      ),
    })
    expect(stub.calls).toHaveLength(calls)

    expect((await run('editions', 'list')).stdout).toMatch(
      new RegExp(`${editionId} +fold-in, stub-1, mine [0-9a-f]{8} +2 +0 +0`, 'u'),
    )
    expect(await run('editions', 'adopt', editionId.slice(0, 6), '--all')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('2 conversations changed'),
    })
    expect((await run('editions', 'show', editionId)).stdout).toMatch(/first +active.*\n.*second +active/u)
    expect(await run('editions', 'drop', editionId, 'first')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('is active in "first"'),
    })
    expect(await run('editions', 'revert', editionId, '--all')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('2 conversations changed'),
    })
    expect(await run('editions', 'drop', editionId, '--all')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^first "[^"]*": dropped/mu),
    })
    expect(await run('editions', 'adopt', editionId, 'first')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('was dropped'),
    })
    expect(await run('editions', 'adopt', editionId, '--all')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`nothing to do: \`context-ledger editions show ${editionId}\``),
    })
    expect(stub.calls).toHaveLength(calls)
  })

  it('is adopted with an estimate first where catching up has to be bought, and nothing is bought unasked', async () => {
    const store = join(folder, '.context-ledger')
    const { editionId } = parse(
      await run(
        'replay',
        'first',
        '--prompt',
        'mine.txt',
        '--strategy',
        'fold-in',
        '--chunk-size',
        '6',
        '--yes',
        '--json',
      ),
    )
    const ledger = await openLedger({ store })
    await ledger.append('first', talk(30, 900))
    await ledger.admin.waitForCompaction()
    await ledger.close()
    const adopt = [
      'editions',
      'adopt',
      editionId,
      'first',
      '--prompt',
      'mine',
      '--chunk-size',
      '6',
      '--prices',
      'prices.json',
    ]
    const calls = stub.calls.length

    const estimated = await run(...adopt)
    expect(estimated).toMatchObject({
      status: 2,
      stdout: expect.stringMatching(
        /edition [0-9a-f]{12}: 1 conversation; 30 of 70 messages to process\nat most \d+ model calls, .* EUR/u,
      ),
      stderr: expect.stringContaining('nothing was done: pass --yes to start'),
    })
    expect(parse(await run(...adopt, '--json')).estimate).toMatchObject({ editionId, calls: expect.any(Number) })
    expect((await run('editions', 'show', editionId)).stdout).toMatch(/first +at revision/u)
    expect(stub.calls).toHaveLength(calls)

    expect(await run(...adopt, '--yes', '--max-tokens', '1')).toMatchObject({
      status: 3,
      stderr: expect.stringContaining('the bound on spending has no room for the next call'),
    })
    expect(await run(...adopt, '--yes', '--max-tokens', '0')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--max-tokens must be at least 1'),
    })
    expect(stub.calls).toHaveLength(calls)
    const adopted = await run(...adopt, '--yes')
    expect(adopted).toMatchObject({ status: 0, stdout: expect.stringMatching(/^first "[^"]*": now active/mu) })
    expect(adopted.stdout.startsWith('edition')).toBe(true)
    expect(stub.calls.length).toBeGreaterThan(calls)
    // No call is needed, so the command does not ask.
    expect(await run(...adopt)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^first "[^"]*": already active\n0 conversations changed, 1 unchanged\n$/u),
    })
  })

  it.each([
    ['with --yes', true],
    ['before the question', false],
  ])('told to stop while it is estimated, %s, says that nothing was done and ends with 130', async (_when, yes) => {
    const store = join(folder, '.context-ledger')
    const output = { out: '', err: '' }
    const spies = [
      jest.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
        output.out += String(chunk)
        return true
      }),
      jest.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
        output.err += String(chunk)
        return true
      }),
    ]
    // As soon as a signal listener is registered.
    const report = (name: string | symbol): void => {
      if (name === 'SIGTERM') setImmediate(() => process.emit('SIGTERM'))
    }
    process.on('newListener', report)
    const listening = process.listenerCount('SIGTERM')
    const calls = stub.calls.length
    const command: ReplayCommand = {
      conversations: [],
      all: true,
      promptName: undefined,
      concurrency: undefined,
      maxTokens: undefined,
      maxCost: undefined,
      yes,
      json: false,
    }
    try {
      await expect(
        runReplay(
          { store, summarizer: 'openai', model: 'stub-2', 'base-url': stub.baseUrl, 'api-key': 'test' },
          command,
        ),
      ).rejects.toMatchObject({ name: 'CommandExit', exitCode: 130 })
    } finally {
      process.off('newListener', report)
      for (const spy of spies) spy.mockRestore()
    }
    expect([output, process.listenerCount('SIGTERM'), stub.calls.length]).toEqual([
      { out: '', err: '\nstopping; press Ctrl-C again to stop now\nnothing was done\n' },
      listening,
      calls,
    ])
    // The ledger was closed, so the next command can open it.
    await (await openLedger({ store })).close()
  })

  it('lists prompts by name, version and hash, and shows their text', async () => {
    const listed = await run('prompts')
    expect(listed.stdout).toMatch(/^mine +1 +template +[0-9a-f]{12} .* ada@night$/mu)
    expect((await run('prompts', 'show', 'mine')).stdout).toBe('Sum up:\n{messages}\n')
    expect(await run('prompts', 'show', 'mime')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('did you mean mine?'),
    })
  })

  it('says what is wrong with what was typed', async () => {
    expect(await run('replay', '--yes')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('name conversations, or pass --all'),
    })
    expect(await run('replay', 'frist', '--yes')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('The nearest:\n  first'),
    })
    expect(await run('replay', '--all', '--yes', '--max-cost', '1')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--prices'),
    })
    expect(await run('replay', '--all', '--yes', '--prompt', 'nobody.txt')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(
        /nobody\.txt, which does not exist, and the ledger has no prompt .*`context-ledger prompts`/u,
      ),
    })
    expect(await run('editions', 'show', '000000000000')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('there is no edition 000000000000 of any conversation'),
    })
    await writeFile(join(folder, 'bytes.txt'), Buffer.from([0x53, 0xff, 0xfe, 0x00]))
    expect(await run('replay', '--all', '--prompt', 'bytes.txt')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('bytes.txt, which is not UTF-8 text'),
    })
    await writeFile(join(folder, 'blind.txt'), 'Sum up what was said.')
    expect(await run('replay', '--all', '--prompt', 'blind.txt')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('the prompt blind has no {messages}'),
    })
    expect(await run('replay', '--all', '--prompt', '.')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('which is a directory'),
    })
    expect(await run('replay', '--all', '--summarizer', 'extractive', '--yes', '--max-cost', '1')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('the extractive one costs nothing'),
    })
  })
})

interface Document {
  readonly estimate?: { readonly editionId: string; readonly calls: number }
  readonly editionId: string
  readonly conversations: readonly {
    readonly conversationId: string
    readonly outcome: string
    readonly messages: number
  }[]
}

// The expectations check the shape of the document.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const parse = ({ stdout }: CliResult): Document => JSON.parse(stdout) as Document
