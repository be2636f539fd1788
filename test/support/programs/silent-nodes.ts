/**
 * A process that opens a cluster whose nodes accept connections and never answer, as suspended nodes do; with TLS if
 * its argument is `tls`. It prints the failure and then has no more work, so it exits by itself unless closing the
 * cluster leaks a handle.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { openKurrentDbEventStore } from '../../../src/adapters/kurrentdb/event-store.js'
import { createMemoryBodyStore } from '../../../src/adapters/memory/body-store.js'
import { noIndex } from '../event-ids.js'

const hosts: string[] = []
for (let node = 0; node < 2; node++) {
  const silent = createServer((socket) => {
    socket.on('error', () => undefined)
    // It is the other side that is asked whether it holds the process.
    socket.unref()
  })
  silent.listen(0, 'localhost')
  await once(silent, 'listening')
  silent.unref()
  const address = silent.address()
  hosts.push(`localhost:${String(typeof address === 'object' ? address?.port : '')}`)
}
const tls = process.argv[2] === 'tls'
try {
  await openKurrentDbEventStore(`esdb://${hosts.join(',')}?tls=${String(tls)}&gossipTimeout=1`, {
    bodies: createMemoryBodyStore(),
    eventIds: noIndex,
    deadlineMs: 500,
  })
} catch (error) {
  console.log(error instanceof Error ? error.message : error)
}
