/**
 * A folder that another process has open, read by way of that process: see `serve-readers.ts`, which is its other end.
 */
import { connect as connectTo, type Socket } from 'node:net'
import { Mutex } from 'async-mutex'
import type { Database, Sql } from '../../ports/sql.js'
import { StoreError } from '../../ports/store-error.js'
import type { FolderOwner } from './folder-lock.js'
import { Answer, errorOf, Greeting, messagesOf, send, type Request } from './reading-protocol.js'

/** How long an owner has to greet. */
const GREETING_MS = 2_000
/** How long an owner may take for an answer: it may be in the middle of something, and others wait as well. */
const ANSWER_MS = 60_000

/**
 * Reads by way of the owner; undefined where it does not answer. Nothing can be written, and nobody is kept from
 * writing.
 */
export async function readBeside(folder: string, owner: FolderOwner): Promise<Database | undefined> {
  if (owner.socket === undefined) return undefined
  const socket = connectTo(owner.socket)
  let failure: unknown
  socket.on('error', (error) => {
    failure = error
  })
  const messages = messagesOf(socket)
  const greeting = Greeting.safeParse(
    await within(GREETING_MS, messages.next()).then(
      (first) => (first === undefined || first.done === true ? undefined : first.value),
      () => undefined,
    ),
  ).data
  if (greeting === undefined) {
    socket.destroy()
    return undefined
  }
  return databaseAt(folder, owner, socket, messages, greeting, () => failure)
}

function databaseAt(
  folder: string,
  { name: ownerName }: FolderOwner,
  socket: Socket,
  messages: AsyncGenerator<unknown, undefined>,
  { hasVector }: Greeting,
  failure: () => unknown,
): Database {
  /** One at a time: a transaction has the connection to itself. */
  const mutex = new Mutex()
  let closed = false
  let broken = false
  // Who forgets to close it is not held by it.
  socket.unref()

  async function exclusively<T>(work: () => Promise<T>): Promise<T> {
    if (closed) throw new StoreError('StoreUnavailable', `${folder} is closed`)
    return await mutex.runExclusive(async () => {
      socket.ref()
      try {
        return await work()
      } finally {
        socket.unref()
      }
    })
  }

  async function ask(request: Request): Promise<object[]> {
    if (broken) throw gone()
    await send(socket, request)
    const next = await within(ANSWER_MS, messages.next())
    const answer = next === undefined || next.done === true ? undefined : Answer.parse(next.value)
    if (answer === undefined) {
      // An answer that comes later would be taken for that of the next request.
      broken = true
      socket.destroy()
      throw gone()
    }
    if ('failure' in answer) throw errorOf(answer.failure)
    return answer.rows
  }

  const gone = (): StoreError =>
    new StoreError(
      'StoreUnavailable',
      `${ownerName}, by way of which ${folder} was read, has ended, has closed it or does not answer: open the ledger again`,
      failure(),
    )

  async function query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    // The type is the caller's word for what its statement gives, here as with any driver.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return (await ask({ kind: 'query', text, values: [...values] })) as Row[]
  }

  /** Those who read set nothing but settings of their transaction by scripts, and these have no semicolons inside. */
  async function script(text: string): Promise<void> {
    for (const statement of text.split(';')) if (statement.trim() !== '') await query(statement)
  }

  const inside: Sql = {
    query,
    script,
    transaction: () => Promise.reject(new Error('a transaction inside a transaction')),
  }

  async function transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    await ask({ kind: 'begin' })
    try {
      return await work(inside)
    } finally {
      // There is nothing to keep, and whoever has the answer loses nothing with the connection.
      await ask({ kind: 'end' }).catch(ignore)
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
    // Calls may be lost, so who waits for one looks by itself as well.
    listen: () => Promise.resolve(() => Promise.resolve()),
    async close() {
      if (closed) return
      closed = true
      await mutex.waitForUnlock()
      socket.destroy()
    },
  }
}

/** What comes within so many milliseconds; undefined where it does not. */
async function within<T>(ms: number, what: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  try {
    return await Promise.race([
      what,
      new Promise<undefined>((resolve) => {
        timer = setTimeout(() => {
          resolve(undefined)
        }, ms)
      }),
    ])
  } finally {
    clearTimeout(timer)
  }
}

function ignore(): void {
  // The caller has its answer, or its failure, already.
}
