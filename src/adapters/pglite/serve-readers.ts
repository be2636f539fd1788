/**
 * The owner of a folder serves processes that only read: at a socket for the same user, between its own transactions.
 *
 * Postgres itself rejects a reader's writes: each statement runs in a read-only transaction that is rolled back. The
 * engine has one session, so all other work waits while a reader's transaction is open. In one transaction the owner
 * waits at most `patienceMs` in total for the reader to send and receive; a reader that hangs longer loses its
 * connection, and one that dies loses its transaction. A statement itself runs to its end, as the owner's do.
 */
import { chmodSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { PRIVATE_FILE } from '../../ports/private-files.js'
import { storeError } from '../../ports/store-error.js'
import { hasSocketFiles } from '../../lib/platform.js'
import { framesOf } from '../../lib/frames.js'
import { failureOf, PROTOCOL_VERSION, Request, send, type Answer } from './reading-protocol.js'

/** Runs statements in one read-only transaction. */
export type ReadWork = <T>(
  work: (query: (text: string, values: readonly unknown[]) => Promise<object[]>) => Promise<T>,
) => Promise<T>

export interface ServeOptions {
  /** Name of the folder, for messages. */
  readonly name: string
  readonly hasVector: boolean
  /** Called when a reader connects. */
  readonly onReader: () => void
  /** Called when the number of connected readers changes. */
  readonly onReaders?: ((count: number) => void) | undefined
  /** Runs a command for a process. Absent if this owner is no resident reader. */
  readonly onRun?: ((command: unknown) => Promise<unknown>) | undefined
  /** Called when a process asks for the folder. Absent if this owner keeps it. */
  readonly onYield?: (() => void) | undefined
  /** Total time that the owner waits for a reader in one transaction. Default 2 s. */
  readonly patienceMs?: number
}

const PATIENCE_MS = 2_000
const MAX_READERS = 64

/** Listens at `address` until `stop`. Does not keep the process alive. Throws if the system cannot listen there. */
export async function serveReaders(
  address: string,
  reading: ReadWork,
  options: ServeOptions,
): Promise<{ stop(): Promise<void> }> {
  const { onReaders = ignore } = options
  const sockets = new Set<Socket>()
  const isFile = hasSocketFiles()

  const server = createServer((socket) => {
    sockets.add(socket)
    onReaders(sockets.size)
    socket.unref()
    socket.on('error', ignore)
    socket.once('close', () => {
      sockets.delete(socket)
      onReaders(sockets.size)
    })
    // A reader receives its own failures if the connection still works; the owner ignores them.
    void new ReaderConnection(socket, reading, options)
      .serve()
      .catch(ignore)
      .finally(() => {
        socket.end()
      })
  })
  server.maxConnections = MAX_READERS
  server.unref()

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path: address, exclusive: true }, () => {
      resolve()
    })
  })
  server.on('error', ignore)
  if (isFile) chmodSync(address, PRIVATE_FILE)

  return {
    async stop() {
      const closed = new Promise<void>((resolve) => {
        server.close(() => {
          resolve()
        })
      })
      for (const socket of sockets) socket.destroy()
      await closed
      if (isFile) await rm(address, { force: true }).catch(ignore)
    },
  }
}

/** The requests of one reader. */
class ReaderConnection {
  readonly #next: Next

  constructor(
    private readonly socket: Socket,
    private readonly reading: ReadWork,
    private readonly options: ServeOptions,
  ) {
    this.#next = requestsOf(socket)
  }

  /** Serves until the reader disconnects or asks for the folder. */
  async serve(): Promise<void> {
    const { hasVector, onReader, onRun, onYield } = this.options
    await send(this.socket, { ledger: 'context-ledger', version: PROTOCOL_VERSION, hasVector })
    onReader()
    for (let request = await this.#next(); request !== undefined; request = await this.#next()) {
      const { kind } = request
      if (kind === 'query') await this.#answer(request.text, request.values)
      else if (kind === 'begin') await this.#serveTransaction()
      else if (kind === 'run' && onRun !== undefined) {
        await send(this.socket, { isAccepted: true })
        await send(this.socket, { output: await onRun(request.command) })
      } else if (kind === 'yield' && onYield !== undefined) return onYield()
      else throw new Error(`a reader sent ${kind} where it has no meaning`)
    }
  }

  async #answer(text: string, values: readonly unknown[]): Promise<void> {
    await this.#send(await answerOf(() => this.reading((query) => queryChecked(query, text, values))))
  }

  /** Sends an answer, or that it is too large: the reader waits for one to each request. */
  async #send(answer: Answer): Promise<void> {
    try {
      await send(this.socket, answer)
    } catch (error) {
      await send(this.socket, { failure: failureOf(error) })
    }
  }

  async #serveTransaction(): Promise<void> {
    let isBegun = false
    const ended = await answerOf(() =>
      this.reading(async (query) => {
        isBegun = true
        await this.#transaction(query)
        return []
      }),
    )
    // The transaction has failed, so its remaining requests get the same failure.
    if ('failure' in ended && isBegun)
      for (let request = await this.#next(); request !== undefined && request.kind !== 'end';) {
        await send(this.socket, ended)
        request = await this.#next()
      }
    await send(this.socket, ended)
  }

  /** Serves one transaction of the reader up to its `end`. */
  async #transaction(query: Parameters<Parameters<ReadWork>[0]>[0]): Promise<void> {
    const withPatience = patience(this.options)
    await withPatience(send(this.socket, { rows: [] }))
    for (;;) {
      const request = await this.#next(withPatience)
      if (request === undefined || request.kind === 'end') return
      if (request.kind !== 'query') throw new Error(`a reader sent ${request.kind} inside a transaction`)
      await withPatience(this.#send(await answerOf(() => queryChecked(query, request.text, request.values))))
    }
  }
}

/** Waits for promises, together no longer than the owner waits for a reader in one transaction. */
function patience({ name, patienceMs = PATIENCE_MS }: ServeOptions): <T>(promise: Promise<T>) => Promise<T> {
  let remainingMs = patienceMs
  return async (promise) => {
    const from = performance.now()
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_resolve, reject) => {
      // The timer keeps this process alive: otherwise it could exit while its own work waits for the session. After
      // a suspension of this process, `setImmediate` lets it first read what the reader sent meanwhile.
      timer = setTimeout(
        () => {
          setImmediate(() => {
            reject(
              storeError(
                'StoreUnavailable',
                `the process that has ${name} open waited ${String(patienceMs)} ms for this reader and ended its transaction: try again`,
              ),
            )
          })
        },
        Math.max(0, remainingMs),
      )
    })
    try {
      return await Promise.race([promise, timeout])
    } finally {
      clearTimeout(timer)
      remainingMs -= performance.now() - from
    }
  }
}

/**
 * Returns the next request, or undefined after the reader has disconnected. `wait` may give up; the next call then
 * waits for the same request.
 */
type Next = (wait?: <T>(promise: Promise<T>) => Promise<T>) => Promise<Request | undefined>

function requestsOf(socket: Socket): Next {
  const messages = framesOf(socket)
  let pending: Promise<IteratorResult<unknown, undefined>> | undefined
  return async (wait = async (promise) => await promise) => {
    pending ??= messages.next()
    const { done, value } = await wait(pending)
    pending = undefined
    return done === true ? undefined : Request.parse(value)
  }
}

async function answerOf(work: () => Promise<object[]>): Promise<Answer> {
  try {
    return { rows: await work() }
  } catch (error) {
    return { failure: failureOf(error) }
  }
}

/**
 * Statements that a reader may send. Postgres rejects those that write; this list rejects those that would end the
 * read-only transaction.
 */
const ALLOWED_STATEMENTS =
  /^\s*(?:select|with|values|table|show|explain|set\s+local|insert|update|delete|merge|create|alter|drop|truncate)\b/i

async function queryChecked(
  query: (text: string, values: readonly unknown[]) => Promise<object[]>,
  text: string,
  values: readonly unknown[],
): Promise<object[]> {
  if (!ALLOWED_STATEMENTS.test(text))
    throw Object.assign(new Error(`cannot execute "${text.trim().slice(0, 40)}" for a reader`), { code: '25006' })
  return await query(text, values)
}

function ignore(): void {
  // The reader has disconnected and needs no answer.
}
