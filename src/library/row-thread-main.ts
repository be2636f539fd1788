/** The thread that `row-thread.ts` starts. It compares the rows, reports differences, and ends. */
import { parentPort, workerData } from 'node:worker_threads'
import { openRowCheck } from './compose.js'
import type { RowThreadTask } from './row-thread.js'

// Only `row-thread.ts` starts this file.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const { conversationId, ...place } = workerData as RowThreadTask
const opened = await openRowCheck(place)
try {
  const found = await opened.checkRows(conversationId, new AbortController().signal)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows of a browser
  parentPort?.postMessage(found)
} finally {
  await opened.close()
}
