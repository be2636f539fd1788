/**
 * Reads a folder through the process that has it open. The owner's end of the connection is in `serve-readers.ts`.
 */
import { isLedgerError, type LedgerError } from '../../lib/ledger-error.js'
import { withinTime } from '../../lib/within-time.js'
import { connect as connectTo, type Socket } from 'node:net'
import { Mutex } from 'async-mutex'
import type { Database, Sql } from '../../ports/sql.js'
import { storeError } from '../../ports/store-error.js'
import type { FolderOwner } from './folder-lock.js'
import { framesOf } from '../../lib/frames.js'
import { Answer, errorOf, Greeting, send, type Request } from './reading-protocol.js'

/** Time limit for the owner's greeting. */
const GREETING_MS = 2_000
/** Time limit for a request and its answer: the owner finishes its own work first, and other readers wait too. */
const ANSWER_MS = 60_000

/**
 * Connects to the owner; undefined if it does not answer. The database rejects writes and does not block writers.
 * @param answerMs time limit for a request and its answer
 */
export async function readThroughOwner(
  folder: string,
  owner: FolderOwner,
  answerMs = ANSWER_MS,
): Promise<Database | undefined> {
  if (owner.socket === undefined) return undefined
  const socket = connectTo(owner.socket)
  let failure: unknown
  socket.on('error', (error) => {
    failure = error
  })
  const messages = framesOf(socket)
  const greeting = Greeting.safeParse(
    await withinTime(() => messages.next(), GREETING_MS).then(
      (first) => first.value,
      () => undefined,
    ),
  ).data
  if (greeting === undefined) {
    socket.destroy()
    return undefined
  }
  return databaseOn(folder, owner, { socket, messages, answerMs, failure: () => failure }, greeting)
}

/** A connection to the owner. */
interface Connection {
  readonly socket: Socket
  readonly messages: AsyncGenerator<unknown, undefined>
  readonly answerMs: number
  /** The last error of the socket. */
  readonly failure: () => unknown
}

/** Sends requests to the owner, one after the other. */
class OwnerRequests {
  private isBroken = false

  constructor(
    private readonly folder: string,
    private readonly owner: FolderOwner,
    private readonly connection: Connection,
  ) {}

  async send(request: Request): Promise<object[]> {
    if (this.isBroken) throw this.connectionLost()
    const { socket, messages, answerMs } = this.connection
    const next = await withinTime(async () => {
      // An owner that is suspended accepts no large request.
      await send(socket, request)
      return await messages.next()
    }, answerMs).catch((error: unknown) => {
      if (isLedgerError(error, 'TookTooLong')) return undefined
      throw error
    })
    const answer = next === undefined || next.done === true ? undefined : Answer.parse(next.value)
    if (answer === undefined) {
      // A late answer would be taken for the answer to the next request.
      this.isBroken = true
      socket.destroy()
      throw this.connectionLost()
    }
    if ('failure' in answer) throw errorOf(answer.failure)
    return answer.rows
  }

  private connectionLost(): LedgerError {
    return storeError(
      'StoreUnavailable',
      `${this.folder} was read through ${this.owner.name}, which has ended, closed the folder or does not answer: open the ledger again`,
      this.connection.failure(),
    )
  }
}

function databaseOn(folder: string, owner: FolderOwner, connection: Connection, { hasVector }: Greeting): Database {
  const { socket } = connection
  const requests = new OwnerRequests(folder, owner, connection)
  /** One transaction at a time uses the connection. */
  const mutex = new Mutex()
  let closing: Promise<void> | undefined
  // A caller that forgets to close the database can still exit.
  socket.unref()

  async function exclusively<T>(work: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw storeError('StoreUnavailable', `${folder} is closed`)
    return await mutex.runExclusive(async () => {
      socket.ref()
      try {
        return await work()
      } finally {
        socket.unref()
      }
    })
  }

  async function query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    // The caller declares the row type of its statement, as with any driver.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return (await requests.send({ kind: 'query', text, values: [...values] })) as Row[]
  }

  /** A script here is `set local` statements; a semicolon inside a value would break it. */
  async function script(text: string): Promise<void> {
    for (const statement of text.split(';')) if (statement.trim() !== '') await query(statement)
  }

  async function closeConnection(): Promise<void> {
    await mutex.waitForUnlock()
    socket.destroy()
  }

  const inside: Sql = {
    query,
    script,
    transaction: () => Promise.reject(new Error('a transaction inside a transaction')),
  }

  async function transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    await requests.send({ kind: 'begin' })
    try {
      return await work(inside)
    } finally {
      // The transaction wrote nothing, so the result is valid even if the connection breaks here.
      await requests.send({ kind: 'end' }).catch(ignore)
    }
  }

  return {
    name: folder,
    isServer: false,
    hasVector,
    query: (text, values) => exclusively(() => query(text, values)),
    script: (text) => exclusively(() => script(text)),
    transaction: (work) => exclusively(() => transaction(work)),
    snapshot: (_tables, work) => exclusively(() => transaction(work)),
    // Notifications may be lost on any database, so listeners also poll; this one never sends any.
    listen: () => Promise.resolve(() => Promise.resolve()),
    async close() {
      closing ??= closeConnection()
      await closing
    },
  }
}

function ignore(): void {
  // The caller already has its result or its failure.
}
