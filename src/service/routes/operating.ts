/** Read models, uses of keys, jobs. */
import { withoutUndefined } from '../../lib/without-undefined.js'
import { cursorOf, numberOf } from '../cursors.js'
import type { Handlers, Parts } from '../service.js'

const PAGE = 100

/** The handlers. */
export function operatingHandlers({
  ledger,
  jobs,
  keys,
}: Parts): Handlers<
  | 'getProjections'
  | 'rebuildProjections'
  | 'catchUpProjections'
  | 'fillVectors'
  | 'listKeyUses'
  | 'listJobs'
  | 'getJob'
  | 'cancelJob'
> {
  return {
    async getProjections() {
      return { body: { projections: await ledger.projections.status() } }
    },

    async rebuildProjections({ body: { names, fresh }, headers, access }) {
      return await jobs.start('rebuildProjections', { access, prefer: headers['prefer'] }, ({ signal, progress }) =>
        ledger.projections.rebuild(names, { ...withoutUndefined({ fresh }), signal, onProgress: progress }),
      )
    },

    async catchUpProjections() {
      return { body: { position: await ledger.projections.catchUp() } }
    },

    async fillVectors({ body: { limit }, headers, access }) {
      return await jobs.start('fillVectors', { access, prefer: headers['prefer'] }, ({ signal, progress }) =>
        ledger.projections.fillVectors({ ...withoutUndefined({ limit }), signal, onProgress: progress }),
      )
    },

    async listKeyUses({ query: { cursor, limit = PAGE } }) {
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

    async listJobs({ query: { limit = PAGE }, access }) {
      return { body: { jobs: await jobs.list(access, limit) } }
    },

    async getJob({ params: { job }, headers, access }) {
      return await jobs.get(access, job, headers['prefer'])
    },

    async cancelJob({ params: { job }, access }) {
      return await jobs.cancel(access, job)
    },
  }
}
