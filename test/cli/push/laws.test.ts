/**
 * Whatever the network, the service and this machine do, each message of a transcript that was read is recorded once,
 * in its order. The network is scripted and everything runs in this process.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { appendFile, mkdir, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Capture } from '../../../src/interfaces/cli/push/capture.js'
import { PushFolder } from '../../../src/interfaces/cli/push/push-folder.js'
import { PushQueue, type QueuedUpload } from '../../../src/interfaces/cli/push/push-queue.js'
import { Sender, type PushAnswer, type PushRequest } from '../../../src/interfaces/cli/push/sender.js'
import { errorOfProblem } from '../../../src/interfaces/client/transport.js'
import { LedgerError } from '../../../src/lib/ledger-error.js'
import { createService, type Service } from '../../../src/interfaces/service/app.js'
import { claudeCodeLines } from '../../support/claude-code-transcript.js'
import { runsOf } from '../../support/length.js'
import { PEPPER, startTestService, type TestService } from '../../support/service.js'

let team: TestService
let base: string
beforeAll(async () => {
  team = await startTestService({ keys: true })
  base = await realpath(await mkdtemp(join(tmpdir(), 'push-laws-')))
})
afterAll(async () => {
  await team.close()
  await rm(base, { recursive: true })
})

/** What happens to a request. */
const FAULTS = ['ok', 'cut before', 'cut after', '429', '503', '500', 'lost uploads'] as const
type Fault = (typeof FAULTS)[number]

const problemOf = (kind: string, status: number): LedgerError => errorOfProblem({ kind, detail: 'scripted', status })
const unreachable = (): LedgerError => new LedgerError('ServiceUnreachable', 'scripted: the connection was cut')

/** A service with a scripted network. */
class Network {
  service: Service = team.service
  faults: Fault[] = []
  readonly sent: string[] = []
  constructor(private readonly key: string) {}

  restart(): void {
    this.service = createService({ ledger: team.ledger, stores: team.stores, pepper: PEPPER })
  }

  post = async (request: PushRequest): Promise<PushAnswer> => {
    const fault = this.faults.shift() ?? 'ok'
    if (fault === 'cut before') throw unreachable()
    if (fault === '429') throw problemOf('TooManyRequests', 429)
    if (fault === '503') throw problemOf('TooBusy', 503)
    if (fault === '500') throw problemOf('Bug', 500)
    if (fault === 'lost uploads') this.restart()
    const body = JSON.stringify(request)
    this.sent.push(body)
    const response = await this.service.app.request(
      'http://127.0.0.1/v1/transcripts',
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${this.key}` },
        body,
      },
      {},
    )
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as the service answers
    const answer = (await response.json()) as PushAnswer & { kind: string; detail: string }
    if (!response.ok) throw errorOfProblem({ ...answer, status: response.status })
    if (fault === 'cut after') throw unreachable()
    return answer
  }
}

/** A laptop: its transcripts, and the process that pushes them. */
class Laptop {
  folder: PushFolder | undefined
  queue: PushQueue | undefined
  capture: Capture | undefined
  sender: Sender | undefined
  readonly refused: string[] = []

  constructor(
    readonly home: string,
    private readonly network: Network,
  ) {}

  async start(): Promise<void> {
    this.folder = await PushFolder.open(join(this.home, 'queue'))
    this.queue = await PushQueue.open(this.folder)
    this.capture = new Capture({
      folder: this.folder,
      queue: this.queue,
      projects: [this.home],
      redactor: undefined,
      resumes: true,
    })
    this.sender = new Sender({
      queue: this.queue,
      post: this.network.post,
      backoff: { firstMs: 1, mostMs: 2 },
      onWait: () => undefined,
      onConnected: () => undefined,
      onSent: () => Promise.resolve(),
      onRefused: ({ refused }: QueuedUpload) => this.refused.push(refused ?? ''),
    })
  }

  /** Forgets everything in memory, as a process that ends does. */
  async restart(): Promise<void> {
    await this.folder?.close()
    await this.start()
  }

  async read(file: string): Promise<void> {
    await this.capture?.read(file, 'claude-code')
  }

  async drain(patienceMs = 30_000): Promise<boolean> {
    return (await this.sender?.drain(patienceMs, new AbortController().signal)) === true
  }
}

async function recordedIds(id: string): Promise<string[]> {
  const ids: string[] = []
  for await (const event of team.ledger.log(id)) if (event.type === 'MessageAppended') ids.push(event.data.messageId)
  return ids
}

const idsIn = (lines: readonly string[]): string[] =>
  lines
    .map((line) => /"uuid":"([^"]+)"/u.exec(line)?.[1] ?? '')
    .filter((uuid) => uuid !== '' && !uuid.startsWith('boundary') && !uuid.startsWith('summary'))

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('grow' as const), lines: fc.integer({ min: 1, max: 6 }) }),
    fc.record({ kind: fc.constant('faults' as const), faults: fc.array(fc.constantFrom(...FAULTS), { maxLength: 4 }) }),
    fc.constant({ kind: 'send' as const }),
    fc.constant({ kind: 'restart' as const }),
    fc.constant({ kind: 'rotate' as const }),
  ),
  { minLength: 4, maxLength: 14 },
)

let runs = 0

it('records each message that was read once, in its order, and every compaction', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      runs += 1
      const id = `law-${String(runs)}`
      const home = join(base, id)
      await mkdir(home)
      const network = new Network(await team.key(['append']))
      const laptop = new Laptop(home, network)
      await laptop.start()
      const lines = claudeCodeLines(10, [3, 6], id).map((line) => line.replaceAll('/srv/harbour', home))
      let written = 0
      let file = join(home, 'a.jsonl')
      for (const step of script) {
        if (step.kind === 'grow') {
          const more = lines.slice(written, written + step.lines)
          written += more.length
          await appendFile(file, more.map((line) => `${line}\n`).join(''))
          await laptop.read(file)
        } else if (step.kind === 'faults') network.faults.push(...step.faults)
        else if (step.kind === 'send') await laptop.drain(5)
        else if (step.kind === 'restart') await laptop.restart()
        else if (written > 0) {
          // The program's file goes away, and it goes on in a new one.
          await rm(file)
          file = join(home, `${String(written)}-${String(Math.random())}.jsonl`)
          await writeFile(file, '')
        }
      }
      network.faults = []
      await laptop.restart()
      expect(await laptop.drain()).toBe(true)
      expect(laptop.refused).toEqual([])
      const ids = written === 0 ? [] : await recordedIds(`claude-code/${id}`)
      // An upload that the service fails with is tried later, after those that follow it.
      const failed = script.some((step) => step.kind === 'faults' && step.faults.includes('500'))
      const expected = idsIn(lines.slice(0, written))
      expect(failed ? ids.toSorted() : ids).toEqual(failed ? expected.toSorted() : expected)
      await laptop.folder?.close()
    }),
    { numRuns: runsOf(40) },
  )
})

it('keeps a transcript that the service refuses, and sends the others', async () => {
  const home = join(base, 'refusals')
  await mkdir(home)
  await team.ledger.append(
    'claude-code/scope:acme/taken',
    { role: 'user', content: 'of another team' },
    { scope: 'other' },
  )
  const network = new Network(await team.key(['append'], { scope: 'acme' }))
  const laptop = new Laptop(home, network)
  await laptop.start()
  for (const id of ['taken', 'free']) {
    const file = join(home, `${id}.jsonl`)
    const lines = claudeCodeLines(2, [], id).map((line) => line.replaceAll('/srv/harbour', home))
    await writeFile(file, `${lines.join('\n')}\n`)
    await laptop.read(file)
  }
  expect(await laptop.drain()).toBe(true)
  expect(laptop.refused).toEqual(['there is no conversation "claude-code/scope:acme/taken" in this ledger'])
  expect(await recordedIds('claude-code/scope:acme/taken')).toHaveLength(1)
  expect(await recordedIds('claude-code/scope:acme/free')).toHaveLength(8)
  await laptop.capture?.closeAll()
  await laptop.restart()
  expect(laptop.queue?.messages).toBe(8)
  await laptop.folder?.close()
})

it('sends a transcript that is larger than a request, and again from its start if the service lost the beginning', async () => {
  const home = join(base, 'large')
  await mkdir(home)
  const network = new Network(await team.key(['append']))
  const laptop = new Laptop(home, network)
  await laptop.start()
  const file = join(home, 'large.jsonl')
  const lines = claudeCodeLines(130, [100], 'large').map((line) => line.replaceAll('/srv/harbour', home))
  await writeFile(file, `${lines.join('\n')}\n`)
  await laptop.read(file)
  await rename(file, join(home, 'gone'))
  network.faults = ['ok', 'lost uploads', 'cut after', '503']
  expect(await laptop.drain()).toBe(true)
  expect(await recordedIds('claude-code/large')).toEqual(idsIn(lines))
  expect(network.sent).toHaveLength(4)
  expect((await team.ledger.admin.verify('claude-code/large')).ok).toBe(true)
  await laptop.folder?.close()
})

it('sends items with many JSON values in smaller requests, and keeps one that no request can have', async () => {
  const home = join(base, 'dense')
  await mkdir(home)
  const network = new Network(await team.key(['append']))
  // The least number of values that a service takes.
  network.service = createService({ ...team, pepper: PEPPER, limits: { bodyBytes: 4 * 1024 ** 2 } })
  const laptop = new Laptop(home, network)
  await laptop.start()
  const where = { file: 'dense.jsonl' }
  const add = async (sourceId: string, counts: readonly number[]): Promise<void> => {
    // oxlint-disable-next-line typescript/require-await -- uploads take items that arrive over time
    async function* items(): AsyncGenerator<object> {
      yield { kind: 'conversation', sourceId, where }
      for (const [part, count] of counts.entries()) {
        const body = {
          role: 'user',
          content: `Image ${String(part)}`,
          extra: { data: Array.from({ length: count }, () => 7) },
        }
        yield { kind: 'message', sourceId: `m${String(part)}`, part: 0, body, where }
      }
    }
    const head = { program: 'claude-code', source: sourceId, writtenAt: '2026-01-01T00:00:00.000Z' }
    await laptop.queue?.add(head, items(), false)
  }
  await add('dense', [9_000, 9_000, 9_000, 9_000, 9_000, 9_000, 9_000, 60_000, 9_000])
  await add('too-dense', [70_000])
  await add('after', [1])
  expect(await laptop.drain()).toBe(true)
  expect(await recordedIds('claude-code/dense')).toHaveLength(9)
  expect(await recordedIds('claude-code/after')).toHaveLength(1)
  const lengths: unknown[] = []
  for await (const { type, data } of team.ledger.log('claude-code/dense'))
    if (type === 'MessageAppended')
      lengths.push(typeof data.extra?.['data'] === 'string' ? 'a text' : Object.keys(data.extra?.['data'] ?? {}).length)
  expect(lengths).toEqual([...Array.from({ length: 7 }, () => 9_000), 'a text', 9_000])
  expect(laptop.refused).toEqual([expect.stringContaining('has more than 65536 JSON values')])
  expect(laptop.queue?.messages).toBe(1)
  await laptop.folder?.close()
})

it('sends to several processes of a service that answer in turn', async () => {
  const home = join(base, 'balanced')
  await mkdir(home)
  const key = await team.key(['append'])
  const networks = [new Network(key), new Network(key)]
  networks[1]?.restart()
  let turn = 0
  const balanced = new Network(key)
  balanced.post = async (request) => {
    turn += 1
    return (await networks[turn % 2]?.post(request)) ?? { next: 0, conversations: [] }
  }
  const laptop = new Laptop(home, balanced)
  await laptop.start()
  const file = join(home, 'balanced.jsonl')
  const lines = claudeCodeLines(160, [], 'balanced').map((line) => line.replaceAll('/srv/harbour', home))
  await writeFile(file, `${lines.join('\n')}\n`)
  await laptop.read(file)
  expect(await laptop.drain()).toBe(true)
  expect(await recordedIds('claude-code/balanced')).toEqual(idsIn(lines))
  await laptop.folder?.close()
})

it('stops if the key is not accepted any more, and keeps the queue', async () => {
  const home = join(base, 'revoked')
  await mkdir(home)
  const laptop = new Laptop(home, new Network('cl_0123456789abcdef_revoked'))
  await laptop.start()
  const file = join(home, 'session.jsonl')
  const lines = claudeCodeLines(2, [], 'revoked').map((line) => line.replaceAll('/srv/harbour', home))
  await writeFile(file, `${lines.join('\n')}\n`)
  await laptop.read(file)
  await expect(laptop.sender?.follow(new AbortController().signal)).rejects.toThrow(
    /not known here, or it was revoked/u,
  )
  await laptop.restart()
  expect(laptop.queue?.messages).toBe(8)
  await laptop.folder?.close()
})

it('tells two processes of one queue apart', async () => {
  const folder = await PushFolder.open(join(base, 'alone'))
  await expect(PushFolder.open(join(base, 'alone'))).rejects.toThrow(/another process on this machine pushes/u)
  await folder.close()
  await (await PushFolder.open(join(base, 'alone'))).close()
})
