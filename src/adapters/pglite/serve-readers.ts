/**
 * The owner of a folder serves other processes that only read: at a socket, for the same user alone, between its own
 * transactions.
 *
 * Postgres itself refuses a reader's writes: each of its statements runs in a transaction that is read-only and is
 * rolled back. The engine has one session, so nobody else does anything while a reader's transaction is open. The owner
 * waits in it no longer than for a moment in all for what the reader says and takes; one that hangs loses its
 * connection, and one that dies its transaction. A statement itself runs to its end, as the owner's own do.
 */
import { chmod, rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { StoreError } from '../../ports/store-error.js'
import { failureOf, messagesOf, PROTOCOL_VERSION, Request, send, type Answer } from './reading-protocol.js'

/** Runs statements in one transaction that reads. */
export type ReadWork = <T>(
  work: (query: (text: string, values: readonly unknown[]) => Promise<object[]>) => Promise<T>,
) => Promise<T>

export interface ServeOptions {
  /** What the name of the folder is, for messages. */
  readonly name: string
  readonly hasVector: boolean
  /** Hears of each reader that begins. */
  readonly onReader: () => void
  /** How long the owner waits for a reader in all of one transaction. Default 2 s. */
  readonly patienceMs?: number
}

const PATIENCE_MS = 2_000
const MOST_READERS = 64

/**
 * Listens at `address` until it is told to stop. The process does not live on for it. Throws where the system does not
 * let it listen.
 */
export async function serveReaders(
  address: string,
  reading: ReadWork,
  { name, hasVector, onReader, patienceMs = PATIENCE_MS }: ServeOptions,
): Promise<{ stop(): Promise<void> }> {
  const sockets = new Set<Socket>()
  const isFile = process.platform !== 'win32'

  const server = createServer((socket) => {
    sockets.add(socket)
    socket.unref()
    socket.on('error', ignore)
    socket.once('close', () => {
      sockets.delete(socket)
    })
    // What goes wrong with one reader is told to it where it can be, and to nobody else.
    void serve(socket)
      .catch(ignore)
      .finally(() => {
        socket.end()
      })
  })
  server.maxConnections = MOST_READERS
  server.unref()

  async function serve(socket: Socket): Promise<void> {
    const next = requestsOf(socket)
    await send(socket, { ledger: 'context-ledger', version: PROTOCOL_VERSION, hasVector })
    onReader()
    for (let request = await next(); request !== undefined; request = await next()) {
      if (request.kind === 'query')
        await send(socket, await answerOf(() => reading((query) => allowed(query, request.text, request.values))))
      else if (request.kind === 'begin') await serveTransaction(socket, next)
      else throw new Error('the end of a transaction that was not begun')
    }
  }

  async function serveTransaction(socket: Socket, next: Next): Promise<void> {
    let isBegun = false
    const ended = await answerOf(() =>
      reading(async (query) => {
        isBegun = true
        await transaction(socket, next, query)
        return []
      }),
    )
    // What it asks behind a failure, up to the end, belongs to a transaction that is no more.
    if ('failure' in ended && isBegun)
      for (let request = await next(); request !== undefined && request.kind !== 'end'; request = await next())
        await send(socket, ended)
    await send(socket, ended)
  }

  /** One transaction of a reader, from its beginning to its `end`. */
  async function transaction(socket: Socket, next: Next, query: Parameters<Parameters<ReadWork>[0]>[0]): Promise<void> {
    let patience = patienceMs
    const waited = async <T>(what: Promise<T>): Promise<T> => {
      const from = performance.now()
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<never>((_resolve, reject) => {
        // It keeps this process alive, as nothing else may: whoever waits for the session here would end without a
        // word. Where this process itself stood still, what the reader said meanwhile is heard first.
        timer = setTimeout(
          () => {
            setImmediate(() => {
              reject(
                new StoreError(
                  'StoreUnavailable',
                  `who has ${name} open waited ${String(patienceMs)} ms for this reader inside a transaction, and ended it: try again`,
                ),
              )
            })
          },
          Math.max(0, patience),
        )
      })
      try {
        return await Promise.race([what, late])
      } finally {
        clearTimeout(timer)
        patience -= performance.now() - from
      }
    }
    await waited(send(socket, { rows: [] }))
    for (;;) {
      const request = await next(waited)
      if (request === undefined || request.kind === 'end') return
      if (request.kind === 'begin') throw new Error('a transaction inside a transaction')
      await waited(send(socket, await answerOf(() => allowed(query, request.text, request.values))))
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path: address, exclusive: true }, () => {
      resolve()
    })
  })
  server.on('error', ignore)
  if (isFile) await chmod(address, 0o600)

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

/**
 * The next request, undefined where the reader is gone; by way of `waited`, who gives up waiting for it leaves it to
 * the next who asks.
 */
type Next = (waited?: <T>(what: Promise<T>) => Promise<T>) => Promise<Request | undefined>

function requestsOf(socket: Socket): Next {
  const messages = messagesOf(socket)
  let coming: Promise<IteratorResult<unknown, undefined>> | undefined
  return async (waited = async (what) => await what) => {
    coming ??= messages.next()
    const { done, value } = await waited(coming)
    coming = undefined
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
 * What may stand at the head of a reader's statement. Whether it writes is up to Postgres; that nothing ends the
 * transaction which makes it read-only is up to us.
 */
const HEADS =
  /^\s*(?:select|with|values|table|show|explain|set\s+local|insert|update|delete|merge|create|alter|drop|truncate)\b/i

async function allowed(
  query: (text: string, values: readonly unknown[]) => Promise<object[]>,
  text: string,
  values: readonly unknown[],
): Promise<object[]> {
  if (!HEADS.test(text))
    throw Object.assign(new Error(`cannot execute "${text.trim().slice(0, 40)}" for a reader`), { code: '25006' })
  return await query(text, values)
}

function ignore(): void {
  // A reader that is gone has no use for an answer.
}
