/** The actor of events that are recorded through a service: this, then the name of the key, which is its person. */
export const KEY_ACTOR = 'key:'
