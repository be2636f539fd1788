/**
 * Opens a ledger in the folder that it is given, and appends a message to the conversation `run-7` every few
 * milliseconds; says each one's number once it is recorded.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { openLedger } from '../../../src/index.js'
import { sayNow } from '../say-now.js'

const ledger = await openLedger({ store: process.argv[2] ?? '', policy: { modelMaxTokens: 4_000 } })
for (let number = 0; ; number += 1) {
  await ledger.append('run-7', {
    id: `m${String(number)}`,
    role: 'user',
    content: `message ${String(number)}: the berth C09 is booked until Thursday`,
  })
  sayNow(`${String(number)}\n`)
  await delay(20)
}
