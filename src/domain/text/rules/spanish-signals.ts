/** Signs of a standing rule in Spanish, and signs against one. */
import { opening, signal, type Signal } from './signals.js'
import { APPROVAL, DAYS, IMPERATIVES, NUMBER, TIME, TONGUE, WIPE } from './spanish-words.js'

/** A verb in the present tense of the second person, and in the subjunctive of an order. */
const YOU = String.raw`(?:\p{L}{2,}(?:as|es)(?<!las|les|tras|mas|más|veces|días|meses|horas|antes|después|entonces|lunes|martes|jueves|viernes|clientes|datos|cuentas|copias|claves|personas|puedes|quieres|tienes|eres|crees|sabes|necesitas|piensas))`

export const SPANISH_SIGNALS: readonly Signal[] = [
  signal(
    'scope',
    3,
    String.raw`cada|siempre|nunca|jamás|nada|nadie|ning(?:ún|un[ao]s?)|cualquier\p{L}*|tod[ao] (?!el mundo|esto|eso|bien)|en todo momento|sea (?:cual|quien|como) \p{L}+|pase lo que pase|da igual|quien(?:quiera)?|bajo ningún|de ninguna manera|ni (?:siquiera|se|te|un[ao]?|por)|de ningún modo|en ningún caso|tampoco|sin falta|invariablemente`,
  ),
  signal(
    'standing',
    4,
    'mientras (?:yo )?no (?:diga|te diga|avise)|más allá no|se acabó|y (?:lo dejas|paras|nada más|fin)|(?:llevan?|van?|tienen?) (?:siempre|tod[ao]s) |sin excepci(?:ón|ones)|por defecto|en adelante|a partir de ahora|desde (?:ahora|hoy)|hasta nuevo aviso|por norma|como norma|y punto|y ya está|y se acabó|salvo que|a menos que|bajo ningún concepto|ni hablar|ni pensarlo|aquí (?:se|no se)|en esta casa|en este (?:repo\\p{L}*|proyecto)|la (?:norma|regla) es',
  ),
  signal(
    'scope of a group',
    1,
    'tod[ao]s|ambos|por (?!favor|ejemplo|eso|qué)\\p{L}+|también|al (?:día|mes|año)|a la semana|semanal(?:es)?|mensual(?:es)?',
  ),
  signal(
    'exclusive',
    3,
    String.raw`únicamente|exclusivamente|solamente|únic[ao]s?|nada más que|nadie más|nada más|ningún otr[ao]|ninguna otra|otr[ao]s? (?:sitio|lugar|lado|parte|canal|vía|persona|carpeta|forma|modo|manera|cuenta|herramienta|hora)s?|a solas|excepto|salvo|menos (?:los|las|el|la)|fuera de (?:ahí|es[aeo]|l[oa]s?|aquí)|(?:un|una|uno) sol[ao]|cosa de|reservad[ao]s?|competencia de|(?:de|del) (?:\p{L}+ )?y de nadie más|por (?:teléfono|correo|\p{L}+) no|lo demás|el resto|ni \p{L}+ ni`,
  ),
  signal('may', 2, 'puedes|podrás'),
  signal('hands off', 6, 'no (?:es|son) (?:para ti|asunto tuyo|cosa tuya)|no te (?:incumbe|concierne)n?'),
  signal('only', 2, 's[oó]lo|tan s[oó]lo|nomás'),
  signal(
    'limit',
    3,
    String.raw`como (?:mucho|máximo|mínimo|tope)|a lo sumo|al menos|por lo menos|(?:el |un )?(?:máximo|mínimo|tope|límite|techo)|no más de|más de|menos de|por (?:debajo|encima)|se acabó|se acaba|basta|bastan|es suficiente|son suficientes|sobra|sobran|hasta (?:las |los |el )?(?:${NUMBER})|no (?:llegue|lleguen|pase|pasen|supere|superen|exceda|excedan|suba|suban)|(?:ni un[ao]? \p{L}+ )?(?:antes|después|más)(?=[.,;]?$)|a partir de l[ao]s?|dentro de (?:las |los )?(?:${NUMBER})|cupo|cuota|antes de (?:las |los |la |el )?(?:${TIME})|no antes|entre (?:las |los )?(?:${NUMBER}) y`,
  ),
  signal('number', 1, String.raw`(?:${NUMBER}) \p{L}+`),
  signal(
    'force',
    3,
    String.raw`(?:deb(?:e|en|es|erá|erán|éis)|ha de|han de|has de|hay que|habrá que|tien(?:e|en|es) que|toca) |(?:no )?(?:se )?pued(?:e|en) |prohibid[ao]s?|obligatori[ao]s?|permitid[ao]s?|imprescindibles?|necesari[ao]s?|vetad[ao]s?|intocables?|permiso|zona (?:prohibida|vedada)|congelad[ao]s?|cerrad[ao]s?|bloquead[ao]s?|no hay (?:que|entregas|\p{L}+s)|queda(?:n)?|autorizad[ao]s?|no (?:está|están) (?:permitid|autorizad)\p{L}+|ni (?:te acerques|tocar|mirar)|no (?:pinta|pintan)|fuera (?:las|los) manos|manos fuera|quieto|prohíbe|exige`,
  ),
  signal(
    'approval',
    3,
    String.raw`(?:sin|antes|hasta|cuando|con|espera|necesit\p{L}+|requier\p{L}+|pid\p{L}+|primero|tiene que|debe)(?: \S+){0,8}? (?:${APPROVAL}|(?:el|un|dar el) sí|aprueb\p{L}+|autoric\p{L}+|firm\p{L}+|confirm\p{L}+|valid\p{L}+|dé el|diga|consult\p{L}+|pregunt\p{L}+|avis\p{L}+|escriba|conteste)|(?:consúlt|pregúnt|avís|enséñ|díme|dime|pásame|háblalo)\p{L}*(?: \S+){0,3}? (?:antes|primero)`,
  ),
  opening(
    'order',
    2,
    String.raw`(?:${IMPERATIVES}|interrumpe|evita|procura|asegúrate|da|dé|cuida|respeta|rechaza|reserva|firma|registra|apunta|anota|adjunta|archiva|compra|encarga|reserva|limita|calcula|redondea|nombra|separa|sube|baja|apaga|enciende|cierra|abre|lleva|trae|coge|imprime|publica|traduce|comprueba|repasa|revisa|valida|prueba|ejecuta|lanza|trata|considera|dirige|redirige|remite|ofrece|entrega|devuelve|descarta|rota|etiqueta|marca|numera|ordena|resume|cita|enlaza|justifica|documenta)(?:l[aeo]s?|me|nos|se|melo|selo)?(?= )`,
  ),
  opening(
    'order: not',
    3,
    String.raw`(?:no|nunca|ni|jamás|nada de|ningún|ninguna|nadie|sin|solo|sólo) (?:(?:l[aeo]s?|me|se|te|nos) )*\p{L}+`,
  ),
  opening(
    'que + subjunctive',
    3,
    String.raw`que (?:(?:l[aeo]s?|el|la|los|las|no|nadie|ningún|ninguna|cada|tod[ao]s?|nunca|se|un|una) )\p{L}+`,
  ),
  opening(
    'when X, you do Y',
    6,
    String.raw`(?:si|cuando|en cuanto|cada vez que|siempre que) [^,?¿]{4,90}, (?:\p{L}+ )?(?:(?:l[aeo]s?|se|te|me|le) ){0,2}${YOU}|(?:si|cuando|en cuanto) (?:el|la|los|las|un|una|alguien|algún|alguna|no|hay|se|algo|\p{L}{4,}n) [^,?¿]{4,90}, (?:${IMPERATIVES})`,
  ),
  signal(
    'never above',
    5,
    String.raw`no (?:superan?|pasan?|exceden?|rebasan?|bajan?|suben?|llegan?) (?:de |los |las |a |el )|mientras [^,]{4,60} no [^,]{2,40}, (?:el|la|los|las|no|nada|nadie) `,
  ),
  signal(
    'negated habit',
    3,
    String.raw`no (?:se |le |les )?(?!hay|me|sé|sabe|puede)\p{L}{3,}(?:a|e|an|en) (?:antes|después|hasta|más|fuera|sin|nunca|nada|ni|jamás)`,
  ),
  signal(
    'we do',
    2,
    'decimos|hablamos|usamos|escribimos|trabajamos|llamamos|tratamos|guardamos|publicamos|facturamos|contamos|medimos',
  ),
  signal('you do', 2, String.raw`(?:(?:l[aeo]s?|me|se|te) ){1,2}${YOU}|no ${YOU}|(?<=[,:;] )${YOU}`),
  signal(
    'habit',
    2,
    String.raw`se (?:les |le |l[ao]s? )?\p{L}{3,}(?:a|e|an|en)(?<!que|para|porque|donde)|va|van|queda|quedan|está[n]? (?:\p{L}+[ai]d[ao]s?)|son|lleva|llevan|vive|viven|sale|salen|pasa|pasan|entra|entran|llega|llegan|corre|corren|decide|aprueba|firma|desbloquea|tiene|tienen|necesita|necesitan|usamos|usan|escribimos|trabajamos|guardamos|empieza|empiezan|acaba|termina|terminan|recibe|reciben|aparece[n]?`,
  ),
  signal('call me', 2, 'llám[ae]me|avís[ae]me|dímelo|llama a|escríbeme|para tod[oa]'),
  signal(
    'condition',
    1,
    String.raw`si|cuando|antes de|después de|hasta|mientras|entre|fuera de|sin|durante|para|con|de (?:\p{L}+|\d+) a (?:\p{L}+|\d+)|del \d+`,
  ),
  signal(
    'standing condition',
    3,
    String.raw`en cuanto|(?<=^)de (?:no )?\p{L}+[aei]r|cada vez que|siempre que|en caso de|de no|ante (?:cualquier|un|una)|nada más (?:\p{L}+[aei]r)|tan pronto|quien \p{L}+`,
  ),
  signal('time', 1, String.raw`${TIME}|${DAYS}|días|horas|mes|semana|trimestre|mañana`),
  signal(
    'contrast',
    3,
    String.raw`(?<=, |; |: |y |pero )(?:no|nunca|jamás|ni)(?! (?:sé|es que|me|solo|sólo|te preocupes)) \S+|en vez de|en lugar de|antes que|sino(?! que)|[;,] (?:de|en|a|con|por) (?:la|el|los|las|lo) [^,]{2,20}, (?:nada|no|ni)|más que`,
  ),
  signal(
    'preference',
    4,
    String.raw`me gust(?:a|an|aría) (?:más|que)|me gustan? (?:l[ao]s?) \p{L}+ (?:pequeñ|cort|brev|clar|simpl|sencill)\p{L}+|prefiero|preferiría|quiero que|no (?:l[ao]s? )?quiero|te (?:agradecería|agradezco|ruego|pido)|agradecería|me (?:basta|bastan|vale|valen|sobra)|serías tan amable|te importaría|mejor`,
  ),
  signal(
    'language',
    5,
    String.raw`(?:habl|escrib|contest|respond|háble|escríb)\p{L}*(?: \S+){0,6}? (?:en )?(?:${TONGUE}|neerlandés|holandés)|en ${TONGUE}|${TONGUE} para|de (?:usted|tú)|en (?:griego|checo|húngaro|danés|sueco|rumano|ucraniano|turco)`,
  ),
  signal(
    'scrub',
    2,
    String.raw`${WIPE}\p{L}*|asteriscos|iniciales|(?:últim\p{L}+|del final) ?\p{L}*|contraseñas?|pin|tokens?|claves?|datos personales|texto plano|registros?|logs?|matrículas?`,
  ),
  signal('copy', 2, 'en copia|con copia|copia (?:a|oculta|para)'),
  signal(
    'work',
    1,
    String.raw`(?:repo\p{L}*|rama\p{L}*|commits?|despliegue\p{L}*|producción|base de datos|tablas?|esquema|registros?|pruebas?|servidor\p{L}*|carpetas?|fichero\p{L}*|archivos?|tickets?|facturas?|clientes?|proveedor\p{L}*|pedidos?|informes?|borrador\p{L}*|respuestas?|mensajes?|correos?|boletín|cuentas?|copias?|scripts?|tareas?|fotos?|imágenes|contratos?|pagos?|documentación|actas?|columnas?|nombres?|números?|canal\p{L}*|presupuesto|gasto\p{L}*|equipo|permisos?|módulo|formularios?|albaran\p{L}*|vales?|código|plantillas?|entregas?|configuración)|\S+@\S+|\S*/\S+|#\p{L}\S*|\p{L}+_\p{L}+`,
  ),

  signal(
    'against: the speaker',
    -4,
    String.raw`yo|él|ella|me (?!gust|bast|val|sobr|avis|pregunt|consult|lo |la |los |las |escrib|manda|llam)\p{L}+|mi (?!aprobación|permiso|visto|autorización|ok|sí|nombre|confirmación|agenda|bandeja|firma)\p{L}+|mis|vamos a|voy a|quiero (?!que)\p{L}+|necesito (?!que)\p{L}+|creo|pienso|tengo|estoy|soy|puedo|nuestr[ao]s? (?:vida|casa)|hay que ver`,
  ),
  signal(
    'against: a rule taken back',
    -12,
    String.raw`(?:ya )?(?:puedes|pueden|podéis) (?:\S+ ){0,8}(?:de nuevo|otra vez)|ya (?:puedes|se puede|no hace falta|no rige)|vuelves a poder`,
  ),
  signal(
    'against: past',
    -12,
    String.raw`fue|fueron|era|eran|estaba\p{L}*|estuvo|había\p{L}*|hubo|hizo|hice|tuv\p{L}+|iba|íbamos|dijo|dije|quería\p{L}*|podía\p{L}*|ayer|anoche|antes de la fusión|pasad[ao]|hace (?:\p{L}+ )(?:días|años|meses|semanas|horas)|(?:he|ha|han|hemos|has) \p{L}+(?:ado|ido|cho|to)|\p{L}{2,}(?:ábamos|íamos|aron|ieron|aba|aban)|\p{L}{3,}(?<!acab)ó|\p{L}{2,}ía[ns]?(?<!día|vía|vías|todavía|garantía|mayoría|guía|guías|auditoría|categoría|categorías|energía|asesoría|tesorería|mercancía|compañía|cuantía|tía|policía)|tuvimos|cuando era`,
  ),
  signal(
    'against: once',
    -5,
    String.raw`ahora(?! en adelante)|hoy|mañana (?:por|a)|esta (?:vez|mañana|tarde|noche|semana)|este (?!repo|proyecto)\p{L}+|esta (?!casa|carpeta)\p{L}+|otra vez|de nuevo|aquí abajo|ya (?:puedes|está (?!$))|cartel de mañana|aún no|todavía|de mañana|ese|esa|esos`,
  ),
  signal(
    'against: guess',
    -7,
    String.raw`no hay nada|no te (?:preocupes|rindas|sientas|desanimes|olvides)|no dudes|a mi (?:hermano|hermana|madre|padre|novi[oa]|marido|mujer)|quizás?|tal vez|a lo mejor|probablemente|seguramente|parece\p{L}*|supongo|igual \p{L}+|podría\p{L}*|dejaría|sería (?!s)|ojalá|espero que|porque|normalmente|a veces|suele\p{L}*|puede que`,
  ),
  signal(
    'against: feeling',
    -5,
    String.raw`amor|feliz|felices|encanta\p{L}*|alegría|gracias|hermos\p{L}+|amig[ao]s?|familia|mamá|papá|hij[ao]s?|vida|corazón|sueños?|qué (?!hacer)\p{L}+|eso, |ay|vaya|claro|siento|fascina|divert\p{L}+|partía`,
  ),
  signal(
    'against: fact',
    -5,
    String.raw`devuelve[n]?|imprime(?= nada)|por ejemplo|significa|método|función|clase|el manual|según|humanos?|animales|planeta|\p{L}+\(\)`,
  ),
]
