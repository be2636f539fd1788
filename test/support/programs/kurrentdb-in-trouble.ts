/**
 * A process that appends, reads and follows while its server is cut off, killed, started and stopped, then closes its
 * store and has nothing more to do. It fails where anything is left unhandled, and hangs where closing leaves something
 * open.
 */
import { openKurrentDbEventStore } from '../../../src/adapters/kurrentdb/event-store.js'
import { createMemoryBodyStore } from '../../../src/adapters/memory/body-store.js'
import { eventNamed, eventsNamed } from '../events.js'
import { noIndex } from '../event-ids.js'
import { startWireServerProcess } from '../kurrentdb/wire-server-process.js'

process.on('unhandledRejection', (reason) => {
  throw reason
})

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

const first = await startWireServerProcess()
const store = await openKurrentDbEventStore(`${first.connectionString}&keepAliveInterval=200&keepAliveTimeout=200`, {
  bodies: createMemoryBodyStore(),
  eventIds: noIndex,
  deadlineMs: 600,
})

const stop = new AbortController()
let answers = 0
const ignore = (): void => {
  answers += 1
}
const busy = Array.from({ length: 8 }, async (_, worker) => {
  const stream = `conversation-${String(worker)}`
  for (let round = 0; !stop.signal.aborted; round++) {
    await store
      .append(
        stream,
        'any',
        worker === 0 ? eventsNamed(`large ${String(round)}`, 200) : [eventNamed(`${stream} ${String(round)}`)],
      )()
      .then(ignore)
    try {
      for await (const _event of store.readStream(stream)) break
    } catch {
      ignore()
      await pause(5)
    }
  }
})
const following = Array.from({ length: 3 }, async () => {
  // Closing the store ends it with an error.
  try {
    for await (const _item of store.subscribe({ signal: stop.signal })) answers += 1
  } catch {
    ignore()
  }
})
const read = (async () => {
  while (!stop.signal.aborted) {
    await store.head().catch(ignore)
    await pause(5)
  }
})()

await pause(200)
for (let round = 0; round < 3; round++) {
  await first.command('restart')
  await pause(200)
}
first.freeze()
await pause(800)
first.thaw()
await pause(200)
await first.kill()
await pause(500)
const second = await startWireServerProcess({ port: first.port })
await pause(300)
await store.close()
await pause(100)
stop.abort()
await Promise.allSettled([...busy, ...following, read])
await second.kill()
if (answers === 0) throw new Error('nothing was tried')
console.log('all calls ended, nothing unhandled')
