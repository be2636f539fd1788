/**
 * Runs first in each process of jest: hands the engines of the worker to its test files (pglite.ts).
 *
 * A worker of jest that has nothing left to do leaves at once. Freeing a heap of a gigabyte took 400 to 800 ms on a busy
 * machine, and jest takes a worker that is there after 500 ms for one that something holds open.
 */
import { engines } from './engines.mjs'

globalThis.testEngines = engines

if (process.send !== undefined && process.env['JEST_WORKER_ID'] !== undefined)
  process.once('exit', (code) => {
    // Listeners are called once: this time the process ends without taking itself apart.
    process.exit(code)
  })
