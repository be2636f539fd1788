/** Handlers of the routes in `schema/routes/operating.ts` and `schema/routes/jobs.ts`. */
import { withoutUndefined } from '../../../lib/without-undefined.js'
import { cursorOf, numberOf } from '../cursors.js'
import type { Handlers } from '../service.js'

const PAGE = 100

/** The handlers. */
export const operatingHandlers = {
  async listKeyUses({ keys }, { query: { cursor, limit = PAGE } }) {
    const before = numberOf(cursor)
    const uses = await keys.uses(withoutUndefined({ limit: limit + 1, before: before?.toString() }))
    const page = uses.slice(0, limit)
    const last = page.at(-1)
    return {
      body: {
        uses: page.map(({ place: _place, ...use }) => use),
        ...(uses.length > limit && last !== undefined ? { next: cursorOf(last.place) } : {}),
      },
    }
  },

  async listJobs({ jobs }, { query: { limit = PAGE }, access }) {
    return { body: { jobs: await jobs.list(access, limit) } }
  },

  async getJob({ jobs }, { params: { job }, headers, access }) {
    return await jobs.get(access, job, headers['prefer'])
  },

  async cancelJob({ jobs }, { params: { job }, access }) {
    return await jobs.cancel(access, job)
  },
} satisfies Partial<Handlers>
