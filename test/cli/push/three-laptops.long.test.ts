/**
 * Three laptops follow growing sessions and push them to one service, through a network that cuts connections before and
 * after the service has recorded a request, and is down at times. Their processes are killed (-9) again and again.
 * `CONTEXT_LEDGER_TEST_PUSHED` sets the number of messages of each laptop (default 400).
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Ledger } from '../../../src/index.js'
import { openService } from '../../../src/library/compose.js'
import { createKey } from '../../../src/interfaces/service/keys.js'
import { startService, type Server } from '../../../src/interfaces/service/server.js'
import { claudeCodeLines } from '../../support/claude-code-transcript.js'
import { startCli } from '../../support/cli.js'
import { plantedSecrets, randomFrom } from '../../support/planted-secrets.js'
import { PEPPER } from '../../support/service.js'

const PUSHED = Number(process.env['CONTEXT_LEDGER_TEST_PUSHED'] ?? 400)
const SESSIONS = 4
const LIMIT_MS = 120_000 + PUSHED * 100
/** How often the sessions grow. */
const STEPS = Math.min(50, 20 + Math.round(PUSHED / 100))
/** Messages of a turn of a session. */
const TURN = 4
const random = randomFrom(11)
const secrets = plantedSecrets(1)

/** A network to a port, which cuts connections while it is bad. */
class BadNetwork {
  isBad = true
  isDown = false
  cuts = 0
  readonly received: Buffer[] = []
  private readonly sockets = new Set<Socket>()
  private readonly server = createServer((client) => {
    this.take(client)
  })

  constructor(private readonly to: number) {}

  async listen(): Promise<number> {
    this.server.listen(0, '127.0.0.1')
    await once(this.server, 'listening')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has such an address
    return (this.server.address() as AddressInfo).port
  }

  private cut(client: Socket): void {
    this.cuts += 1
    client.resetAndDestroy()
  }

  private take(client: Socket): void {
    this.sockets.add(client)
    client.on('error', () => undefined)
    if (this.isDown) {
      this.cut(client)
      return
    }
    const upstream = connect(this.to, '127.0.0.1')
    this.sockets.add(upstream)
    upstream.on('error', () => undefined)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.on('close', () => {
        this.sockets.delete(one)
        other.destroy()
      })
    client.on('data', (chunk: Buffer) => {
      this.received.push(chunk)
      // Before the service has the request.
      if (this.isBad && random() < 0.04) this.cut(client)
      else upstream.write(chunk)
    })
    upstream.on('data', (chunk: Buffer) => {
      // After the service has recorded the request, and before the laptop has the answer.
      if (this.isBad && random() < 0.15) this.cut(client)
      else client.write(chunk)
    })
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    this.server.close()
    await once(this.server, 'close')
  }
}

let folder: string
let ledger: Ledger
let server: Server
let network: BadNetwork
let url: string
const keys: string[] = []
const children = new Set<ChildProcessWithoutNullStreams>()

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'three-laptops-')))
  const { ledger: opened, ...stores } = await openService({ store: 'memory' })
  ledger = opened
  server = await startService({ ledger, stores, pepper: PEPPER, host: '127.0.0.1', port: 0, mayBeOpen: false })
  network = new BadNetwork(Number(new URL(server.url).port))
  url = `http://127.0.0.1:${String(await network.listen())}`
  for (const name of ['alice', 'bob', 'carol'])
    keys.push((await createKey(stores.keys, PEPPER, { name, roles: ['append'], bound: { scope: 'team' } })).key)
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await network.close()
  await server.close()
  await ledger.close()
  await rm(folder, { recursive: true, force: true })
})

class Laptop {
  readonly home: string
  readonly sessions: readonly { readonly id: string; readonly lines: readonly string[] }[]
  kills = 0
  notes = ''
  private child: ChildProcessWithoutNullStreams | undefined

  constructor(private readonly number: number) {
    this.home = join(folder, `laptop-${String(number)}`)
    const turns = Math.ceil(PUSHED / SESSIONS / TURN)
    this.sessions = Array.from({ length: SESSIONS }, (_none, at) => {
      const id = `session-${String(number)}-${String(at)}`
      const lines = claudeCodeLines(turns, [Math.floor(turns / 2)], id).map((line, index) => {
        const secret = JSON.stringify(secrets[index % secrets.length]?.text ?? '').slice(1, -1)
        return line
          .replaceAll('/srv/harbour', join(this.home, 'work'))
          .replaceAll('look at crane', `look at ${secret} `)
      })
      return { id, lines }
    })
  }

  start(): void {
    const words = ['--poll', '0.3', '--store', url, '--project', join(this.home, 'work'), join(this.home, 'sessions')]
    const child = startCli(['import', '--follow', '--json', ...words], {
      cwd: this.home,
      env: { CONTEXT_LEDGER_SERVICE_KEY: keys[this.number] ?? '', XDG_STATE_HOME: join(this.home, 'state') },
    })
    child.stderr.on('data', (text: Buffer) => {
      this.notes += text.toString()
    })
    child.stdout.resume()
    children.add(child)
    this.child = child
  }

  async end(signal: 'SIGKILL' | 'SIGINT'): Promise<number | null> {
    const { child } = this
    if (child === undefined) return null
    if (child.exitCode !== null) throw new Error(`the process ended: ${this.notes}`)
    const closed = once(child, 'close')
    child.kill(signal)
    await closed
    children.delete(child)
    return child.exitCode
  }

  /** Writes the sessions, some lines at a time, while the process is killed and started again. */
  async work(): Promise<void> {
    await mkdir(join(this.home, 'work'), { recursive: true })
    await mkdir(join(this.home, 'sessions'))
    this.start()
    const step = Math.max(4, Math.ceil(PUSHED / SESSIONS / STEPS))
    const longest = Math.max(...this.sessions.map(({ lines }) => lines.length))
    for (let from = 0; from < longest; from += step) {
      for (const { id, lines } of this.sessions) {
        const more = lines.slice(from, from + step)
        await appendFile(join(this.home, 'sessions', `${id}.jsonl`), more.map((line) => `${line}\n`).join(''))
      }
      await pause(200 + random() * 600)
      if (random() < 0.2) {
        await this.end('SIGKILL')
        this.kills += 1
        this.start()
      }
    }
  }
}

it(
  'each message is recorded once, redacted, and the ledger verifies',
  async () => {
    const startedAt = performance.now()
    const laptops = [0, 1, 2].map((number) => new Laptop(number))
    const outages = setInterval(() => {
      network.isDown = random() < 0.3
    }, 700)
    await Promise.all(laptops.map(async (laptop) => await laptop.work()))
    clearInterval(outages)
    network.isDown = false
    const expected = laptops.flatMap(({ sessions }) =>
      sessions.map(({ id, lines }) => ({
        id: `claude-code/${id}`,
        ids: lines
          .map((line) => /"uuid":"([^"]+)"/u.exec(line)?.[1] ?? '')
          .filter((uuid) => !uuid.startsWith('boundary') && !uuid.startsWith('summary')),
      })),
    )
    const total = expected.reduce((sum, { ids }) => sum + ids.length, 0)
    const until = performance.now() + LIMIT_MS / 2
    const recorded = async (): Promise<number> =>
      (await ledger.list({ scope: 'team' })).conversations.reduce((sum, { messages }) => sum + messages, 0)
    // The network stays bad. Compactions remove live messages, so the list counts at least these.
    let before = -1
    for (let now = await recorded(); performance.now() < until; now = await recorded()) {
      if (now === before && (await isQueueEmpty(laptops))) break
      before = now
      await pause(500)
    }
    network.isBad = false
    for (const laptop of laptops)
      expect([await laptop.end('SIGINT'), laptop.notes.includes('rror:')]).toEqual([0, false])
    const seconds = (performance.now() - startedAt) / 1_000
    let duplicates = 0
    for (const { id, ids } of expected) {
      const found: string[] = []
      let compactions = 0
      for await (const event of ledger.log(id)) {
        if (event.type === 'MessageAppended') found.push(event.data.messageId)
        if (event.type === 'CompactionObserved') compactions += 1
        const text = JSON.stringify(event.data)
        expect(secrets.filter(({ secret }) => text.includes(JSON.stringify(secret).slice(1, -1)))).toEqual([])
      }
      duplicates += found.length - new Set(found).size
      expect(found).toEqual(ids)
      expect(compactions).toBe(1)
    }
    const wire = Buffer.concat(network.received).toString('latin1')
    expect(wire).toContain('[secret:')
    expect(secrets.filter(({ secret }) => wire.includes(JSON.stringify(secret).slice(1, -1)))).toEqual([])
    const { ok, problems } = await ledger.admin.verify()
    expect({ ok, problems }).toEqual({ ok: true, problems: [] })
    const kills = laptops.reduce((sum, laptop) => sum + laptop.kills, 0)
    expect(network.cuts).toBeGreaterThan(0)
    process.stderr.write(
      `${JSON.stringify({ messages: total, cuts: network.cuts, kills, duplicates, seconds: Math.round(seconds) })}\n`,
    )
  },
  LIMIT_MS,
)

/** Whether every laptop has sent its queue: `import` without `--follow` would find nothing to send. */
async function isQueueEmpty(laptops: readonly Laptop[]): Promise<boolean> {
  const complete = await Promise.all(
    laptops.flatMap(({ sessions }) =>
      sessions.map(async ({ id, lines }) => {
        const last = lines.at(-1) ?? ''
        const uuid = /"uuid":"([^"]+)"/u.exec(last)?.[1] ?? ''
        try {
          for await (const event of ledger.log(`claude-code/${id}`))
            if (event.type === 'MessageAppended' && event.data.messageId === uuid) return true
        } catch {
          return false
        }
        return false
      }),
    ),
  )
  return complete.every(Boolean)
}
