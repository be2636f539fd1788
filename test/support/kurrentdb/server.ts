/**
 * A server that speaks KurrentDB's gRPC protocol to the real client, in this process: appends by both calls, reads,
 * catch-up subscriptions, deletion, gossip. It fails when a test asks it to, in the ways that a real one was seen to
 * fail. It leaves out persistent subscriptions, access lists of streams, links and `$maxAge`.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import grpc from '@grpc/grpc-js'
import { changes } from '../latch.js'
import { createCalls, type CallContext, type Role } from './calls.js'
import { createFaults } from './faults.js'
import { createEventLog, type EventLog, type ReadableLog } from './log.js'
import type { Member } from './messages.js'

export interface WireServer {
  readonly host: string
  readonly port: number
  /** For a client that knows this server alone. */
  readonly connectionString: string
  readonly log: EventLog
  readonly isRunning: boolean
  /** Cuts all connections and frees the port, as a killed process does. The events stay. */
  stop(): Promise<void>
  /** Restarts on the same port with the same events. State that the process had only in memory is lost. */
  start(): Promise<void>
  restart(): Promise<void>
  /** From now on calls are accepted and not answered, but pings are: simulates a stalled disk. */
  hang(): void
  /** The disk works again: waiting calls are executed, even if the client no longer waits for the answer. */
  resume(): void
  /** Answers appends and reads with "Server Is Not Ready", as in the first moments of a process. */
  beNotReady(): void
  /** Resolves when the next call gets that answer. */
  refused(): Promise<void>
  beReady(): void
  /** The next appends are stored, but the client gets a deadline or unavailable error. */
  hideOutcome(answer: 'deadline' | 'unavailable', appends?: number): void
  /**
   * Leaves the next appends unanswered: stores `stored` of them, loses `lost` of them, and then stops. Resolves when it
   * has stopped.
   */
  dieDuringAppends(fate: { readonly stored: number; readonly lost: number }): Promise<void>
  /** Stops for good. */
  close(): Promise<void>
}

export interface WireServerOptions {
  /** 0, or nothing, for any free port. */
  readonly port?: number
  readonly log?: EventLog
  /** Where it makes its log itself: others use it too. */
  readonly foreign?: boolean
  /** The log that reads use, if it differs from the server's own. */
  readonly reads?: ReadableLog
  /** PEM texts. */
  readonly tls?: { readonly key: string; readonly certificate: string }
  /** Passwords by user name. Default: no authentication. */
  readonly users?: CallContext['users']
  readonly role?: (self: Pick<Member, 'host' | 'port' | 'id'>) => Role
}

const HOST = '127.0.0.1'
/** Two were enough in 100 restarts of 100. */
const ROUNDS_UNTIL_HEARD = 5

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, HOST)
  await once(server, 'listening')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has such an address
  return (server.address() as AddressInfo).port
}

/** Starts a server on this machine. */
export async function startWireServer(options: WireServerOptions = {}): Promise<WireServer> {
  const log = options.log ?? createEventLog({ foreign: options.foreign ?? false })
  const reads = options.reads ?? log
  const id = randomUUID()
  const faults = createFaults()
  const sockets = new Set<Socket>()
  const death = changes()
  let port = options.port ?? 0
  let running: { readonly listener: Server; readonly calls: grpc.Server } | undefined
  let life = 0

  const self = {
    id,
    host: HOST,
    get port() {
      return port
    },
  }
  const alone = (): Member => ({ id, host: HOST, port, state: 'leader', isAlive: true })
  const role: Role = options.role?.(self) ?? { leader: alone, members: () => [alone()] }

  async function start(): Promise<void> {
    if (running !== undefined) return
    // On a follower's start nothing begins: the log is the leader's.
    if (role.leader()?.id === id) log.begin()
    const calls = createCalls({ id, users: options.users, log, reads, faults, role, life: () => life, die })
    const { tls } = options
    const credentials =
      tls === undefined
        ? grpc.ServerCredentials.createInsecure()
        : grpc.ServerCredentials.createSsl(null, [
            { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.certificate) },
          ])
    // The sockets are ours, so that a death can be played: grpc's own way to stop says goodbye first.
    const injector = calls.createConnectionInjector(credentials)
    const listener = createServer({ noDelay: true }, (socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', () => undefined)
      injector.injectConnection(socket)
    })
    port = await listen(listener, port)
    running = { listener, calls }
  }

  async function stop(): Promise<void> {
    if (running === undefined) return
    const { listener, calls } = running
    running = undefined
    life += 1
    faults.clear()
    const closed = once(listener, 'close')
    listener.close()
    for (const socket of sockets) socket.destroy()
    calls.forceShutdown()
    await closed
    // Clients in this process hear of it when the event loop has gone round. Another process takes seconds to start:
    // until then all have heard.
    for (let round = 0; round < ROUNDS_UNTIL_HEARD; round++) await setImmediate()
    death.happened()
  }

  /**
   * A death that a call brings about comes when the event loop has gone round: Node 20 frees what it is still reading
   * from where a session ends inside its own callback, and the whole process dies of it ("corrupted size vs.
   * prev_size", in four of ten runs).
   */
  async function die(): Promise<void> {
    await setImmediate()
    await stop()
  }

  await start()
  return {
    host: HOST,
    get port() {
      return port
    },
    get connectionString() {
      // A certificate is for a name.
      return options.tls === undefined
        ? `esdb://${HOST}:${String(port)}?tls=false`
        : `esdb://localhost:${String(port)}?tls=true`
    },
    log,
    get isRunning() {
      return running !== undefined
    },
    stop,
    start,
    async restart() {
      await stop()
      await start()
    },
    hang: () => faults.hang(),
    resume: () => faults.resume(),
    beNotReady() {
      faults.isReady = false
    },
    refused: () => faults.refused(),
    beReady() {
      faults.isReady = true
    },
    hideOutcome(answer, appends = 1) {
      faults.plan(Array.from({ length: appends }, () => ({ stored: true, answer })))
    },
    dieDuringAppends({ stored, lost }) {
      const fates = Array.from({ length: stored + lost }, (_, at) => ({
        stored: at < stored,
        answer: 'none' as const,
        ...(at === stored + lost - 1 ? { last: true as const } : {}),
      }))
      faults.plan(fates)
      return death.next()
    },
    close: stop,
  }
}
