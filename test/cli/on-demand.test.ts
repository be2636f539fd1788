/** The on-demand ledger: when it is opened and closed, and which calls are retried. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ledgerOnDemand, type LedgerOnDemand, type Opened } from '../../src/interfaces/cli/on-demand.js'
import { openLedger, type Ledger } from '../../src/index.js'
import { storeError } from '../../src/ports/store-error.js'
import { talk } from '../support/conversations.js'

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger({ store: 'memory' })
  await ledger.append('a', talk(3))
})
afterAll(async () => {
  await ledger.close()
})

/** Logs opens and closes in order. `opened` overrides the next ledgers. */
function demanded(
  idleMs: number | undefined,
  next: (() => Promise<Ledger>)[] = [],
): { readonly onDemand: LedgerOnDemand; readonly steps: string[]; readonly closed: () => Promise<void> } {
  const steps: string[] = []
  let tellClosed: () => void = () => undefined
  const onDemand = ledgerOnDemand(
    async (writes): Promise<Opened> => {
      const mode = writes ? 'to write' : 'to read'
      const openedLedger = await (next.shift() ?? (() => Promise.resolve(ledger)))()
      steps.push(`open ${mode}`)
      return {
        ledger: openedLedger,
        idleMs,
        close: () => {
          steps.push(`close ${mode}`)
          tellClosed()
          return Promise.resolve()
        },
      }
    },
    (problem) => steps.push(`problem ${String(problem)}`),
  )
  const closed = (): Promise<void> =>
    new Promise((resolve) => {
      tellClosed = resolve
    })
  return { onDemand, steps, closed }
}

const failWithEndedProcess = (): Promise<never> =>
  Promise.reject(storeError('StoreUnavailable', 'the other process has ended'))

/** A ledger served by a process that ends during the first call. */
const endedLedger = (): Promise<Ledger> =>
  Promise.resolve(
    new Proxy(ledger, {
      get: (target, name) => (name === 'context' ? failWithEndedProcess : Reflect.get(target, name)),
    }),
  )

describe('a ledger on demand', () => {
  it('is opened by the first call, serves all that come, and is let go when nobody asks', async () => {
    const { onDemand, steps, closed } = demanded(1)
    expect(steps).toEqual([])
    const letGo = closed()
    await Promise.all([onDemand.ledger.context('a'), onDemand.ledger.messages('a'), onDemand.ledger.list()])
    await letGo
    expect(steps).toEqual(['open to read', 'close to read'])
    for await (const { type } of onDemand.ledger.log('a', { limit: 1 })) expect(type).toBe('ConversationConfigured')
    await onDemand.close()
    expect(steps).toEqual(['open to read', 'close to read', 'open to read', 'close to read'])
  })

  it('is opened anew to write, once readers are done, and then serves both', async () => {
    let answer: () => void = () => undefined
    const slow = new Promise<void>((resolve) => {
      answer = resolve
    })
    const slowly = new Proxy(ledger, {
      get: (target, name) =>
        name === 'messages' ? async () => await slow.then(() => target.messages('a')) : Reflect.get(target, name),
    })
    const { onDemand, steps } = demanded(undefined, [() => Promise.resolve(slowly)])
    const reading = onDemand.ledger.messages('a')
    const pinned = onDemand.ledger.conversation('a').pin('m1')
    expect(steps).not.toContain('close to read')
    answer()
    await reading
    await pinned
    await onDemand.ledger.context('a')
    await onDemand.close()
    expect(steps).toEqual(['open to read', 'close to read', 'open to write', 'close to write'])
  })

  it('goes on where opening failed once', async () => {
    const { onDemand, steps } = demanded(undefined, [failWithEndedProcess])
    await expect(onDemand.ledger.context('a')).rejects.toThrow('the other process has ended')
    expect((await onDemand.ledger.context('a')).messages).toHaveLength(3)
    await onDemand.close()
    expect(steps).toEqual(['open to read', 'close to read'])
  })

  it('reads on where the process that it read by way of has gone, and not for ever', async () => {
    const { onDemand, steps } = demanded(60_000, [endedLedger])
    expect((await onDemand.ledger.context('a')).messages).toHaveLength(3)
    await onDemand.close()
    expect(steps).toEqual(['open to read', 'close to read', 'open to read', 'close to read'])
    const never = demanded(60_000, [endedLedger, endedLedger, endedLedger])
    await expect(never.onDemand.ledger.context('a')).rejects.toThrow('the other process has ended')
    await never.onDemand.close()
  })
})
