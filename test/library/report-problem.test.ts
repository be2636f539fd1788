/** A caller-supplied listener never blocks the ledger, whatever it does. */
import { expect, test } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../../src/index.js'
import { problemReporter } from '../../src/library/report-problem.js'
import { longTest } from '../support/length.js'

test('onProblem may throw or reject, with anything, and is handed anything', async () => {
  const unhandled: unknown[] = []
  const hear = (reason: unknown): void => {
    unhandled.push(reason)
  }
  process.on('unhandledRejection', hear)
  try {
    const odd: unknown = Object.create(null)
    problemReporter(() => {
      throw odd
    })(new Error('a problem'))
    // oxlint-disable-next-line typescript/no-misused-promises -- a listener may be async, whatever its type says
    problemReporter(async () => {
      await Promise.resolve()
      throw odd
    })(new Error('a problem'))
    problemReporter(undefined)(odd)
    await new Promise(setImmediate)
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', hear)
  }
})

longTest('onOpening may throw: the ledger opens, and onProblem hears of it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'context-ledger-'))
  const problems: unknown[] = []
  try {
    const ledger = await openLedger({
      store: join(folder, 'ledger'),
      onOpening: () => {
        throw new Error('no screen')
      },
      onProblem: (problem) => {
        problems.push(problem)
      },
    })
    await ledger.append('a', { role: 'user', content: 'hello' })
    await ledger.close()
    expect(problems).toMatchObject([{ message: 'no screen' }])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
