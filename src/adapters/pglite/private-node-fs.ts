/**
 * Makes the files of PGlite's engine private to their owner. When the engine unpacks its template it creates files with
 * mode 0666 and folders with mode 0777, and only the umask of the process limits these.
 */
import type { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { mkdirSync } from 'node:fs'
import { OTHER_USERS, PRIVATE_FOLDER } from '../../ports/private-files.js'

type Init = Awaited<ReturnType<NodeFS['init']>>
type Preparation = NonNullable<Init['emscriptenOpts']['preRun']>[number]

/** The operations of Emscripten's NODEFS that set modes; PGlite has no types for them. */
interface NodeOperations {
  mknod: (parent: unknown, name: string, mode: number, device: unknown) => unknown
  setattr: (node: unknown, attributes: { readonly mode?: number }) => unknown
}

const isOperations = (value: unknown): value is NodeOperations =>
  typeof value === 'object' &&
  value !== null &&
  typeof Reflect.get(value, 'mknod') === 'function' &&
  typeof Reflect.get(value, 'setattr') === 'function'

const restrictModes: Preparation = ({ FS }) => {
  const operations: unknown = Reflect.get(Object(Reflect.get(FS.filesystems, 'NODEFS')), 'node_ops')
  if (!isOperations(operations)) throw new Error('this version of PGlite has an unknown file layer')
  const { mknod, setattr } = operations
  operations.mknod = (parent, name, mode, device) => mknod(parent, name, mode & ~OTHER_USERS, device)
  operations.setattr = (node, attributes) =>
    setattr(
      node,
      // Emscripten passes null for an attribute that does not change.
      typeof attributes.mode === 'number' ? { ...attributes, mode: attributes.mode & ~OTHER_USERS } : attributes,
    )
}

/** A folder for the engine's files, made if it is missing. */
export class PrivateNodeFs extends NodeFS {
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER })
    super(folder)
  }

  override async init(engine: PGlite, options: Parameters<NodeFS['init']>[1]): Promise<Init> {
    const { emscriptenOpts } = await super.init(engine, options)
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [restrictModes, ...(emscriptenOpts.preRun ?? [])] } }
  }
}
