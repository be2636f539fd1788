import { describe, expect, it } from '@jest/globals'
import { setImmediate } from 'node:timers/promises'
import { Foreground } from '../../src/interfaces/page/reading/foreground.js'

/** A page that is being answered until `finish` is called. */
function pageIn(foreground: Foreground): { readonly finish: () => Promise<void> } {
  let resolve = (): void => undefined
  const answered = foreground.answer(
    async () =>
      await new Promise<void>((done) => {
        resolve = done
      }),
  )
  return {
    async finish() {
      resolve()
      await answered
    },
  }
}

describe('background work of the page', () => {
  it('waits until every page is answered', async () => {
    const foreground = new Foreground()
    const [first, second] = [pageIn(foreground), pageIn(foreground)]
    const order: string[] = []
    const work = foreground.pause().then(() => order.push('work'))
    await first.finish()
    await setImmediate()
    await setImmediate()
    order.push('second page')
    await second.finish()
    await work
    expect(order).toEqual(['second page', 'work'])
  })

  it('continues after a page that failed', async () => {
    const foreground = new Foreground()
    const failed = foreground.answer(async () => {
      await setImmediate()
      throw new Error('no such conversation')
    })
    const work = foreground.pause()
    await expect(failed).rejects.toThrow('no such conversation')
    await work
  })
})
