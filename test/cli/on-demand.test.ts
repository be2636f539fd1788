/** A ledger that is open while it is used: when it is opened and let go, for whom, and what is tried again. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ledgerOnDemand, type LedgerOnDemand, type Opened } from '../../src/cli/on-demand.js'
import { openLedger, StoreError, type Ledger } from '../../src/index.js'
import { talk } from '../support/conversations.js'

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger({ store: 'memory' })
  await ledger.append('a', talk(3))
})
afterAll(async () => {
  await ledger.close()
})

/** What was opened and closed, in order; `opened` may stand in for the next openings. */
function demanded(
  idleMs: number | undefined,
  next: (() => Promise<Ledger>)[] = [],
): { readonly onDemand: LedgerOnDemand; readonly told: string[]; readonly closed: () => Promise<void> } {
  const told: string[] = []
  let tellClosed: () => void = () => undefined
  const onDemand = ledgerOnDemand(
    async (writes): Promise<Opened> => {
      const mode = writes ? 'to write' : 'to read'
      const given = await (next.shift() ?? (() => Promise.resolve(ledger)))()
      told.push(`open ${mode}`)
      return {
        ledger: given,
        idleMs,
        close: () => {
          told.push(`close ${mode}`)
          tellClosed()
          return Promise.resolve()
        },
      }
    },
    (problem) => told.push(`problem ${String(problem)}`),
  )
  const closed = (): Promise<void> =>
    new Promise((resolve) => {
      tellClosed = resolve
    })
  return { onDemand, told, closed }
}

const gone = (): Promise<never> => Promise.reject(new StoreError('StoreUnavailable', 'the other process has ended'))

/** A ledger by way of a process that ends with the first call. */
const lost = (): Promise<Ledger> =>
  Promise.resolve(new Proxy(ledger, { get: (target, name) => (name === 'context' ? gone : Reflect.get(target, name)) }))

describe('a ledger on demand', () => {
  it('is opened by the first call, serves all that come, and is let go when nobody asks', async () => {
    const { onDemand, told, closed } = demanded(1)
    expect(told).toEqual([])
    const letGo = closed()
    await Promise.all([onDemand.ledger.context('a'), onDemand.ledger.messages('a'), onDemand.ledger.list()])
    await letGo
    expect(told).toEqual(['open to read', 'close to read'])
    for await (const { type } of onDemand.ledger.log('a', { limit: 1 })) expect(type).toBe('ConversationConfigured')
    await onDemand.close()
    expect(told).toEqual(['open to read', 'close to read', 'open to read', 'close to read'])
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
    const { onDemand, told } = demanded(undefined, [() => Promise.resolve(slowly)])
    const reading = onDemand.ledger.messages('a')
    const pinned = onDemand.ledger.pin('a', 'm1')
    expect(told).not.toContain('close to read')
    answer()
    await reading
    await pinned
    await onDemand.ledger.context('a')
    await onDemand.close()
    expect(told).toEqual(['open to read', 'close to read', 'open to write', 'close to write'])
  })

  it('goes on where opening failed once', async () => {
    const { onDemand, told } = demanded(undefined, [gone])
    await expect(onDemand.ledger.context('a')).rejects.toThrow('the other process has ended')
    expect((await onDemand.ledger.context('a')).messages).toHaveLength(3)
    await onDemand.close()
    expect(told).toEqual(['open to read', 'close to read'])
  })

  it('reads on where the process that it read by way of has gone, and not for ever', async () => {
    const { onDemand, told } = demanded(60_000, [lost])
    expect((await onDemand.ledger.context('a')).messages).toHaveLength(3)
    await onDemand.close()
    expect(told).toEqual(['open to read', 'close to read', 'open to read', 'close to read'])
    const never = demanded(60_000, [lost, lost, lost])
    await expect(never.onDemand.ledger.context('a')).rejects.toThrow('the other process has ended')
    await never.onDemand.close()
  })
})
