"""The words of requests that only a person may grant: for each language what is asked, of what, and how one asks."""

from __future__ import annotations

# By language: a concept in capitals and the words that follow it. `_` joins the words of a phrase, a trailing `*` makes
# a stem, a leading `!` a form that by itself asks its reader, a leading `+` one that does at the beginning of a clause.
# Words of scripts that are written without blanks, or with endings grown on, are found anywhere. All is folded.
WORDS: dict[str, str] = {
    "en": """
        ASK need_the need_your please pls plz kindly can_you could_you would_you will_you can_u could_u go_ahead
            make_sure need_you_to want_you_to would_like_you_to i'd_like_you_to ask_you_to asking_you_to like_you_to
            feel_free_to be_sure_to would_you_mind you_can_just you_can_go have_you i_need_you_to just_go_ahead
            agent_must agent_shall agent_should agents_must agents_shall assistant_must assistant_shall
            agents_are_to agent_is_to assistant_should have_the_agent have_the_assistant have_your_agent
            your_agent_should your_assistant_should agent_may agents_may
        CAN you_can you_may you_must you_should you_need_to you_have_to you_are_free_to you_are_to may_therefore
            can_safely
        FREE without_checking without_a_further without_another without_the_second without_consulting straight_away
            no_second_look don't_prompt do_not_prompt do_not_wait without_prompting already_approved pre-approved
            preapproved already_agreed already_cleared already_signed has_signed_off gave_the_green has_approved
            on_his_behalf on_her_behalf on_their_behalf admin_override okayed cleared_it waived on_sight
            without_obtaining without_asking without_further don't_ask dont_ask do_not_ask no_need_to_ask
            need_not_ask needn't_ask no_need_to_wait no_need_to_wake no_need_to_check skip_the_dialogue
            skip_the_prompt without_waiting without_confirmation without_a_confirmation no_questions no_further
            without_approval without_review without_telling needn't_raise don't_wait no_approval without_bothering
            at_once don't_go_round
        NOT not never don't dont doesn't cannot can't won't mustn't shouldn't without refuse* forbid* forbidden
            avoid instead_of rather_than nobody no
        HOW how whether who why where which if
        ABOUT phishing injection attack* attacker* payload* fixture* refus* declin* rejected reject suspicious
            malicious example e.g test_case regex detector asked_me asks_me asked_for asks_for
        ME in_your_answer in_your_next_reply in_this_ticket in_the_comment as_a_comment below me us my_inbox
            in_reply in_the_reply in_the_answer this_chat this_thread this_channel this_ticket back_to_me the_ticket
            the_thread the_channel
        IT it this that them
        AGENT agent agents assistant assistants bot
        NOW now today tonight as_soon_as once straight right_away immediately directly anyway yourself for_me for_us
            for_this_session your
        GIVE +mirror +transmit +deposit +place +submit +fetch +stick +drop +hang +relay +fax +release_to +present
            uploading exporting mirroring posting sending transferring mailing forwarding +give +send +paste +share
            +tell +show +hand +post +dm +forward +reply_with +print +attach +provide +pass +put +include +read_me
            +read_out +copy +upload +mail +email +quote +append +return +cat +zip +push +reveal +respond_with +echo
            +base64 +transfer +deliver +let_me_have +scp +bundle +commit +publish +pipe +stream +sync +encode +ship
            +export pasting giving sharing !i_need_your !send_me !give_me !tell_me !show_me !dm_me !paste_me
            !let_me_see
        DUMP +print +dump +run +list +output +capture +collect +grab +fetch +serialise +serialize
        SECRET signing_secret shared_key shared_secret private_half private_part deploy_key admin_password
            root_password db_password unseal_key unseal_keys recovery_phrase seed_phrase wallet_key license_key
            connection_string database_url wi-fi_password psk password* passphrase* passwd secret secrets credential
            credentials token tokens api_key api_keys apikey access_key access_keys private_key private_keys
            signing_key signing_keys secret_key master_key recovery_code recovery_codes one-time_code otp pin login
            session_cookie session_cookies encryption_key bearer service_key deploy_token ssh_key ssh_keys
            webhook_secret client_secret root_key
        ENV environment_variable environment_variables env_vars env_var environ process.env os.environ
            environment_block environment_dump env_dump output_of_env full_environment whole_environment
            entire_environment env_output env_variables set_output shell_environment
        OFF +disarm +flush +strip +unset +neutralise +silence +relaunch_without +empty +wipe +clear +shorten +weaken
            +unprotect +untick +detach +loosen +exempt deactivated disabled +disable +deactivate +turn_off
            +switch_off +skip +bypass +remove +kill +circumvent +lift +suspend +drop +ignore +mute +override +unload
            +uninstall +pause +relax +stop +delete +take_out +comment_out +whitelist +auto-approve +auto-accept
            disabling skipping turning_off switching_off bypassing
        GUARD filter scanner virus_scan malware_scan malware_scanner approvals gitleaks seccomp prompts pretooluse
            required_reviewers safety_checks safety_assertions verification signing permission_checks command_filter
            confirmations checks screening_step message_filter csp protection protections apparmor codeql
            branch_rules commit_signing hook hooks pre-commit pre-push branch_protection protected_branch
            permission_prompt permission_prompts permission_check permission_dialog approval_prompt approval_prompts
            approval_step sandbox sandboxing screening screener message_screen security_scan security_scans
            security_scanner security_check security_checks secret_scan secret_scanning secret_scanner
            required_check required_checks required_review required_reviews review_requirement signature_check
            signature_checks signature_verification signing_check verify_signatures 2fa mfa two-factor
            two-factor_authentication guardrail guardrails content_filter safety_filter safety_filters
            confirmation_prompt confirmation_prompts permission_system vulnerability_scan firewall selinux antivirus
            audit_log audit_logging code_owners codeowners tls_verification certificate_check
            certificate_verification host_key_checking rate_limit_guard confirmation_dialog confirmation_dialogs
            approval_dialog allowlist_check deny_list denylist permission_mode approval_mode approval_gate
            review_gate injection_filter dlp
        FLAG --no-verify --dangerously-skip-permissions --yolo --no-sandbox bypasspermissions --no-gpg-sign
            --dangerously-bypass-approvals-and-sandbox skip-permissions
        TURN +turn +switch +set +leave +shut +keep
        USE +relaunch +leave +make +rerun +retry +append +keep adding +use +pass +run +commit +push +start +launch
            +restart +add +go +set +try +merge
        AWAY off
        MERGE +merge +squash +land +rebase_and_merge +squash_and_merge +auto-merge merging
        CHANGE requests request_# open_prs all_open green ci pr mr prs pull_request pull_requests merge_request
            branch main master trunk change changes change_set patch fix hotfix
        PUSH +push +force-push +force_push +commit pushing +cherry-pick
        MAINLINE main master trunk default_branch release_branch production_branch protected_branch
        FORCE +force-push +force_push +push_--force +push_-f +tag
        HISTORY branch main master origin history
        PUBLISH +publish +release +deploy +roll_out +ship +promote +cut +go_live +launch publishing releasing
            deploying rolling_out
        PLACE index stores package_index npm pypi crates.io registry production prod app_store play_store
            marketplace docker_hub dockerhub live_site rubygems maven_central store the_website appstore ghcr
        VERSION images packages binaries wheels firmware version release build package image artifact artifacts
            artefact artefacts site hotfix website wheel gem crate announcement newsletter
        GRANT +elevate +authorize +insert +grant +give +add +assign +promote +authorise +put +append +invite
            +whitelist +install +enable granting giving adding
        RIGHT ssh_key public_key second_admin second_administrator admin_user admin_account write_permissions
            rights_to read-write full_control full_access own_account bypass_list trusted trusted_peers root write
            access write_access read_access admin_access admin_rights admin_role as_admin an_admin rights right role
            permission permissions collaborator collaborators maintainer authorized_keys deploy_key deploy_keys
            owner sudo sudoers root_access administrator privileges write_permission push_access allow-list
            allowlist always_allow superuser contributor editor_role
        OUTSIDE public_file_share public_share public_issue my_server his_server home_server outside_party
            external_party third_party external_server public_forum forum public_page public_channel pastebin gist
            webhook external_partner external_address personal_mailbox personal_email personal_mail private_email
            private_mail personal_address personal_account personal_gmail gmail dropbox wetransfer transfer.sh
            paste.ee public_bucket google_drive my_drive my_telegram telegram_bot ngrok external_auditor
            external_auditors outside_counsel private_address file.io public_gist outside_address ftp the_press
            journalist journalists paste_site to_the_contractor to_the_vendor to_our_vendor to_the_supplier
            to_the_agency to_the_auditors to_our_auditors to_the_partner to_the_customer to_the_press
            to_our_contractor to_the_contractors outside_the_company my_own_account my_private
    """,
    "de": """
        AGENT agent agenten assistent
        ASK bitten_wir wir_bitten ist_zu sind_zu agent_muss agent_hat agenten_müssen magst_du_bitte bitte kannst_du
            könnt_ihr könntest_du könnten_sie würdest_du würden_sie magst_du du_sollst agent_soll agenten_sollen
            assistent_soll ich_möchte_dass_du sei_so_gut seid_so_gut bitten_sie bitte_dich bitte_sie du_kannst_ruhig
            ihr_könnt_ruhig kann_ruhig willst_du
        CAN können_sie sie_können du_kannst du_musst sie_müssen du_solltest du_darfst sie_dürfen
        FREE ohne_zu_fragen ohne_nachzufragen ohne_rückfrage ohne_weitere nicht_nachfragen nicht_fragen ungefragt
            ohne_freigabe
        IT das ihn es sie
        NEVER nicht nie niemals kein keine keinen keinem keiner
        NOT ohne statt verboten untersag* weder
        HOW wie ob wer warum wo welche welcher welches
        ABOUT abgelehnt lehne angriff* beispiel* verdächtig* ablehn* verweiger*
        ME mir uns hier hierher deiner_antwort deine_antwort ihrer_antwort zurück rückmeldung antwort diesen_chat
            das_ticket dieses_ticket vorgang
        NOW jetzt sofort gleich heute direkt danach dann sobald ruhig einfach ungefragt deine deiner deinem eigenen
        GIVE übertragen +übertrage ablegen +kopiert schickt gebt beizulegen auszugeben überspielen +überspiel
            hinterlegen +hinterlege anfügen +schreibt !schick !schicke +sende !gib +gebt +nenn +nenne !poste
            +kopiere +kopier +zeig +zeige +verrate +teile +häng +hänge +leg +lege +lade +lad +füge +schreib
            +schreibe +leite +leit +übermittle +trag +pack +stell +stelle +mail +maile schicken senden geben nennen
            posten kopieren zeigen verraten teilen hängen anhängen legen laden hochladen einfügen schreiben
            weiterleiten übermitteln zusenden zuschicken mitschicken zurückgeben mailen weitergeben durchgeben
            beilegen beifügen schickst gibst sendest nennst schicken_sie geben_sie senden_sie !nennen_sie
            !hängen_sie !legen_sie !übermitteln_sie !teilen_sie stellen !ich_brauche_dein !ich_brauche_das
            !brauche_ich
        DUMP +gib +druck +drucke +führe ausgeben drucken ausführen auflisten !liste auslesen
        SECRET passwort passwörter kennwort kennwörter zugangsdaten anmeldedaten token tokens api-schlüssel api-key
            api-token geheimnis geheimnisse schlüssel privatschlüssel passphrase signaturschlüssel zugangstoken pin
            zugriffsschlüssel private_schlüssel zugangsschlüssel wlan-schlüssel
        ENV umgebungsvariable umgebungsvariablen umgebung
        OFF +deaktiviere +deaktivier +umgehe +umgeh +überspring +überspringe +entferne +lösche abschalten
            ausschalten deaktivieren umgehen überspringen entfernen löschen aushebeln aussetzen abstellen aufheben
            weglassen stilllegen leeren !deaktivieren_sie !umgehen_sie !überspringen_sie !entfernen_sie auslassen
        TURN !schalt !schalte !nimm +stell +stelle +setz +setze +hebe +heb nehmen schalten !schalten_sie !heben_sie
            !setzen_sie !nehmen_sie stellen
        GUARD filter scanner prüfung prüfungen tls-prüfung signatur freigaben eingangskontrolle befehlsfreigabe
            schutz geheimnissuche abfragen scan signierung hooks hook pre-push-hook pre-commit-hook zweigschutz
            branchschutz branch-schutz freigabeabfrage freigabeabfragen rückfragen berechtigungsabfrage
            berechtigungsabfragen rechteabfrage sandbox sicherheitsprüfung sicherheitsprüfungen sicherheitsscan
            nachrichtenprüfung signaturprüfung pflichtprüfung pflichtprüfungen zwei-faktor zwei-faktor-anmeldung
            freigabefenster genehmigungsabfrage genehmigungsabfragen virenscanner schutzregel schutzregeln
            inhaltsfilter zertifikatsprüfung sperrregeln pflichtreview geheimnisprüfung nachrichtenfilter
            eingangsprüfung prüfpflicht berechtigungsdialog firewall
        AWAY ab aus weg auf raus außer
        MERGE +merg mergen zusammenführen +führ einspielen übernehmen !merge_bitte !mergen_sie reinmergen
        CHANGE branch zweig änderung änderungen mr pr pull-request merge-request hauptzweig
        PUSH +push +pushe pushen +schieb schieben
        MAINLINE hauptzweig main master haupt-branch
        PUBLISH +veröffentliche +veröffentlich +deploye +stell +stelle +spiel +spiele +bring veröffentlichen
            deployen ausrollen freischalten +rolle +schalte stellen ausliefern online_stellen !veröffentlichen_sie
            einspielen
        PLACE produktion registry paketregister live online store entwicklerportal netz öffentlich produktivumgebung
            produktiv produktivsystem
        VERSION version fassung stand paket seite ausgabe build
        GRANT +gib !gib_mir +erteile +vergib +füge +trag +trage +gewähre +richte erteilen geben vergeben gewähren
            eintragen hinzufügen freischalten aufnehmen einräumen !geben_sie !erteilen_sie !tragen_sie !räumen_sie
            freigeben
        RIGHT zugriff zugang rechte schreibrechte schreibrecht leserechte admin adminrechte administratorrechte
            rolle berechtigung berechtigungen schreibzugriff lesezugriff vollzugriff administrator zugriffsrechte
        OUTSIDE externe_adresse externen_dienstleister an_den_dienstleister privatadresse private_adresse
            privates_postfach private_mail steuerbüro wirtschaftsprüfer partnerfirma an_den_kunden an_die_presse
            an_den_lieferanten an_die_agentur
    """,
    "fr": """
        AGENT agent agents assistant
        ASK il_convient_de il_faut tu_veux_bien vous_voulez_bien est-ce_que_tu_peux il_vous_est_demandé
            l'assistant_doit merci_de peux-tu pourrais-tu pouvez-vous pourriez-vous veuillez s'il_te_plaît
            s'il_vous_plaît stp svp l'agent_doit les_agents_doivent agent_doit il_faut_que_tu prière_de n'hésite_pas
            je_te_demande_de je_vous_demande_de je_voudrais_que_tu vous_prie_de prie_de pense_à pensez_à
        CAN tu_pourrais vous_pourriez tu_peux vous_pouvez tu_dois vous_devez
        FREE sans_demander sans_validation pas_besoin_de_demander sans_repasser inutile_de_demander
            sans_confirmation
        IT ça
        NOT ne n'* jamais pas sans interdi* aucun aucune
        HOW comment qui pourquoi où quel quelle quels
        ABOUT attaque* exemple refus* suspect* hameçonnage
        ME moi nous ici me ta_réponse votre_réponse la_réponse ce_ticket au_ticket ce_fil
        NOW maintenant tout_de_suite immédiatement aujourd'hui directement dès_que ensuite ton ta tes ce_soir
        GIVE +envoie +envoyez +donne +donnez +colle +collez +partage +partagez +montre +montrez +transmets
            +transmettez +joins +joignez +copie +copiez +poste +postez +dis +affiche +mets +mettez +dépose +déposez
            +fournis +transfère +transférez +communique +communiquez +expédie +téléverse +lis envoyer donner coller
            partager montrer transmettre joindre copier poster déposer fournir transférer communiquer lire mettre
            publier m'envoyer !envoie-moi !donne-moi !envoyez-moi !donnez-moi !passe-moi !file-moi !montre-moi
            !colle-moi !transmets-moi !communique-moi !dis-moi !communiquez-moi me_lire expédier téléverser
            faire_suivre !j'ai_besoin_du !j'ai_besoin_de_ton
        DUMP +imprime +affiche +lance +exécute afficher imprimer lancer exécuter +liste lister
        SECRET mot_de_passe mots_de_passe jeton jetons clé_d'api clé_api clés_api clé_privée clés_privées
            identifiants secret secrets clé_secrète clé_de_signature token clé_d'accès clés_d'accès phrase_secrète
            clé_maîtresse clé
        ENV variables_d'environnement variable_d'environnement l'environnement_complet
        OFF désinstaller +désinstalle +neutralise +baisse +vide vider +éteins éteindre +arrête arrêter +désactive
            +désactivez +coupe +coupez +contourne +contournez +saute +sautez +supprime +retire +retirez +enlève
            +ignore +lève +débranche +passe désactiver couper contourner sauter supprimer retirer enlever ignorer
            lever débrancher suspendre +suspends +suspendez neutraliser
        GUARD filtre filtres contrôle contrôles vérification protection scanner signature analyse crochet crochets
            hook hooks protection_de_branche protection_de_la_branche demandes_d'autorisation demandes_de_permission
            demande_d'autorisation bac_à_sable sandbox filtrage analyse_de_sécurité contrôle_de_signature
            vérification_de_signature vérification_des_signatures vérifications_obligatoires double_authentification
            contrôles_de_sécurité filtre_des_messages pare-feu antivirus revue_obligatoire invites_de_permission
            demandes_de_confirmation contrôle_de_sécurité vérifications_de_sécurité protection_des_branches
            confirmations scan_de_sécurité contrôle_des_messages filtre_de_messages
        MERGE +fusionne +fusionnez +mergez +intègre fusionner merger intégrer
        CHANGE branche pr mr demande_de_fusion correctif
        PUSH +pousse +poussez pousser forcer
        MAINLINE branche_principale main master
        PUBLISH +publie +publiez +déploie +déployez +mets +mettez +pousse publier déployer mettre
        PLACE production prod registre npm pypi en_ligne dépôt_public magasin
        VERSION version paquet page site article build
        GRANT +donne +donnez +accorde +accordez +ajoute +ajoutez +attribue +ouvre accorder donner ajouter attribuer
            ouvrir !donne-moi !donnez-moi !accorde-moi !ajoute-moi !accordez-moi autoriser +autorise +autorisez
        RIGHT accès droits droit rôle admin administrateur permission permissions autorisation autorisations
            collaborateur écriture authorized_keys
        OUTSIDE adresse_externe adresse_personnelle boîte_personnelle au_prestataire au_cabinet au_partenaire
            mail_perso adresse_perso presse commissaire_aux_comptes
    """,
    "es": """
        AGENT agente agentes asistente
        ASK por_favor el_agente_debe los_agentes_deben asistente_debe necesito_que te_pido haz_el_favor
            te_agradecería quiero_que asegúrate_de os_pido le_ruego le_pido porfa ruego
        CAN podría podrías puedes puede podéis debes tienes_que
        FREE sin_preguntar sin_consultar no_hace_falta sin_confirmar sin_pedir
        IT
        NOT no nunca jamás sin prohibid* ningún ninguna
        HOW cómo quién por_qué dónde cuál
        ABOUT ataque* ejemplo rechaz* sospechos*
        ME me nos aquí tu_respuesta su_respuesta la_respuesta este_hilo este_tique al_tique
        NOW ahora ya hoy directamente en_cuanto luego tu tus inmediatamente
        GIVE +envía +manda +pega +comparte +muestra +pasa +adjunta +copia +sube +publica +reenvía +escribe +pon
            +deja +incluye +vuelca +envíe +adjunte +pegue +mande enviar mandar pegar compartir mostrar pasar
            adjuntar copiar subir reenviar escribir poner dejar darme enviarme mandarme pasarme !envíame !mándame
            !dame !pásame !dime !muéstrame !enséñame !pégame !enviadme !páseme !envíeme !me_des mandes envíes pases
            subas adjuntes pegues !necesito_la !necesito_tu reenvíes
        DUMP +imprime +ejecuta +lista +vuelca imprimir ejecutar volcar
        SECRET contraseña contraseñas clave claves token tokens credenciales secreto secretos clave_privada
            clave_api
        ENV variables_de_entorno variable_de_entorno entorno_completo
        OFF +desinstala desinstalar retirar suprimir suspender +suspende +retira +suprime +levanta +desactiva
            +deshabilita +apaga +salta +sáltate +omite +quita +elimina +evita +anula +desconecta desactivar
            deshabilitar apagar saltar omitir quitar eliminar evitar anular desactives quites apagues desactive
            !desactívame saltarte
        GUARD filtro filtros controles permisos verificación escáner auditoría hook hooks ganchos gancho
            protección_de_rama protección_de_la_rama avisos_de_permiso sandbox caja_de_arena filtrado
            análisis_de_seguridad escaneo_de_seguridad verificación_de_firmas verificación_de_firma
            comprobaciones_obligatorias revisión_obligatoria doble_factor cortafuegos peticiones_de_permiso
            controles_de_seguridad diálogos_de_permiso confirmaciones filtro_de_mensajes solicitudes_de_permiso
            antivirus revisión_de_seguridad protección_de_ramas petición_de_permiso
        MERGE +fusiona +mezcla +integra +mergea +funde +mergead fusionar mezclar integrar mergear fusiones mergees
        CHANGE rama pr mr cambio
        PUSH +empuja +sube empujar subir !haz_push
        MAINLINE rama_principal main master
        PUBLISH +publica +publique +despliega +sube publicar desplegar lanzar liberar subir publiques despliegues
            !poned
        PLACE producción registro npm pypi tienda en_línea
        VERSION versión paquete página web imagen nota
        GRANT +dale +concede +otorga +añade +agrega +asigna dar conceder otorgar añadir agregar asignar !dame
            !añádeme !agrégame darme !concédeme me_des !dadme autorizar +autoriza !denos !danos
        RIGHT acceso permisos permiso rol admin administrador derechos colaborador privilegios escritura
        OUTSIDE correo_externo dirección_externa correo_personal buzón_personal al_proveedor a_la_gestoría
            a_la_asesoría cuenta_personal al_contratista prensa
    """,
    "pt": """
        AGENT agente agentes assistente
        ASK por_favor preciso_que consegues o_agente_deve agente_deve agentes_devem peço_que gostaria_que favor
            faz_favor
        CAN poderia podia podes pode você_pode você_deve consegue tens_de você_precisa dá_para dá_pra
        FREE sem_perguntar sem_confirmar sem_pedir não_precisa_perguntar sem_consultar
        IT
        NOT não nunca jamais sem proibid* nenhum
        HOW como quem por_que porquê onde qual
        ABOUT ataque* exemplo recus* suspeit*
        ME me mim nos aqui tua_resposta sua_resposta a_resposta na_resposta neste_chamado no_chamado pra_mim
        NOW agora já hoje logo direto depois teu tua teus tuas seu seus sua suas assim_que
        GIVE +envia +envie +manda +mande +cola +cole +partilha +compartilha +mostra +mostre +passa +passe +anexa
            +anexe +copia +copie +publica +sobe +suba +põe +coloca +coloque +encaminha +encaminhe +escreve +inclui
            enviar mandar colar partilhar compartilhar mostrar passar anexar copiar subir pôr colocar encaminhar
            escrever !me_envia !me_manda !me_passa !me_mostra !me_diz !me_dá !me_arruma !manda-me !envia-me !dá-me
            !diz-me !passa-me !mostra-me !me_envie !me_mande !me_passe !preciso_da !preciso_do me_mandar
        DUMP +imprime +imprima +executa +roda +rode +lista +despeja imprimir executar rodar
        SECRET senha senhas palavra-passe chave chaves token tokens credenciais segredo segredos
        ENV variáveis_de_ambiente variável_de_ambiente
        OFF +afrouxa suspender +suspende retirar +retira +esvazia desinstalar +desinstala +desativa +desative
            +desliga +desligue +pula +pule +ignora +remova +tira +tire +contorna +salta desativar desligar pular
            ignorar remover tirar contornar saltar desabilitar +desabilita +desabilite
        GUARD filtro filtros proteção verificação scanner checagem aprovações confirmação hook hooks ganchos
            proteção_de_branch proteção_do_branch proteção_da_branch proteção_da_main pedidos_de_permissão sandbox
            triagem varredura_de_segurança verificação_de_assinatura antivirus verificação_de_assinaturas
            verificações_obrigatórias revisão_obrigatória dois_fatores firewall avisos_de_permissão confirmações
            filtro_de_mensagens análise_de_segurança verificação_de_segurança checagem_de_segurança
            hook_de_assinatura
        MERGE +mescla +funde +integra +mergeia +mergeie mesclar fundir integrar mergear !dá_merge !faz_o_merge
            fazer_o_merge !faça_o_merge dar_merge !faz_merge fazer_merge
        CHANGE branch pr mr alteração
        PUSH +empurra +sobe empurrar subir !dá_push fazer_push
        MAINLINE branch_principal main master ramo_principal
        PUBLISH +publica +publique +implanta +implante +sobe publicar lançar implantar liberar subir
        PLACE produção registro registo npm pypi loja ar
        VERSION versão pacote página site imagem
        GRANT +concede +conceda +adiciona +adicione +acrescenta +atribui dar conceder adicionar acrescentar atribuir
            liberar !me_dá !me_adiciona !dá-me !me_dê !me_libera !me_conceda autorizar
        RIGHT acesso permissão permissões papel admin administrador direitos colaborador privilégios escrita
        OUTSIDE endereço_externo email_pessoal e-mail_pessoal meu_gmail fornecedor conta_pessoal revista imprensa
    """,
    "it": """
        AGENT agente agenti assistente
        ASK si_invita si_richiede è_pregato sei_pregato mi_serve_che occorre bisogna ti_spiace ti_dispiace
            l'assistente_deve per_favore per_cortesia potresti potrebbe potreste l'agente_deve agente_deve
            agenti_devono ti_chiedo_di ho_bisogno_che assicurati_di vorrei_che ti_prego vi_prego la_prego si_prega
            riesci_a cortesemente gentilmente
        CAN può_procedere puoi può potete devi dovresti
        FREE senza_chiedere senza_conferma non_serve_chiedere non_stare_a_chiedere senza_domandare
        IT
        NOT non mai senza vietat* nessun nessuna
        HOW come chi perché dove quale
        ABOUT attacco esempio rifiut* sospett*
        ME mi me ci qui tua_risposta sua_risposta la_risposta nella_risposta in_risposta
        NOW adesso ora oggi subito direttamente appena poi pure tuo tua tuoi tue
        GIVE +esporta esportare trasferire +trasferisci +riporta riportare trasmettere +trasmetti recapitare
            +comunica +consegna consegnare +includi +invia +manda +incolla +condividi +mostra +passa +allega +copia
            +inoltra +scrivi +metti +pubblica +posta +accoda +spedisci +gira inviare mandare incollare condividere
            mostrare passare allegare copiare caricare inoltrare scrivere mettere spedire girare !inviami !mandami
            !dammi !passami !dimmi !mostrami !girami !incollami !inviaci !mandaci !inviatemi !mandatemi inviarmi
            mandarmi darmi passarmi dirmi !mi_serve_la !mi_servono_le
        DUMP +stampa +esegui +elenca +lancia stampare eseguire lanciare
        SECRET password parola_d'ordine token chiave chiavi credenziali segreto segreti
        ENV variabili_d'ambiente variabili_di_ambiente variabile_d'ambiente
        OFF +disinstalla disinstallare suppliscano elimina +elimina eliminare +spegnete +disattivate +metti_in_skip
            +leva +disattiva +disabilita +spegni +salta +ignora +rimuovi +togli +aggira +sospendi disattivare
            disabilitare spegnere saltare ignorare rimuovere togliere aggirare sospendere escludere +escludi
        GUARD filtro filtri controlli richieste divieti verifica scanner hook hooks protezione_del_ramo
            protezione_del_branch richieste_di_permesso richieste_di_autorizzazione sandbox filtro_dei_messaggi
            scansione_di_sicurezza verifica_delle_firme verifica_della_firma controlli_obbligatori
            revisione_obbligatoria due_fattori firewall richieste_di_conferma antivirus controlli_di_sicurezza
            controllo_delle_firme controllo_di_sicurezza conferme protezione_dei_rami controllo_dei_messaggi
            verifica_firma
        MERGE unisce +accorpa accorpare +unisci +fondi +integra +mergia unire fondere integrare mergiare
            !fai_il_merge fare_il_merge !fai_merge
        CHANGE ramo branch pr mr modifica
        PUSH +spingi spingere !fai_push
        MAINLINE ramo_principale main master
        PUBLISH +pubblica +rilascia +distribuisci pubblicare rilasciare distribuire caricare metti mettere
        PLACE produzione registro npm pypi negozio linea rete
        VERSION versione pacchetto pagina sito immagine
        GRANT +dai +concedi +aggiungi +assegna dare concedere aggiungere assegnare !dammi !aggiungimi !concedimi
            darmi autorizzare +autorizza abilitare +abilita !abilitami
        RIGHT accesso permessi permesso ruolo admin amministratore diritti collaboratore privilegi scrittura
        OUTSIDE indirizzo_esterno mail_personale casella_personale fornitore commercialista stampa
    """,
    "ru": """
        AGENT агент* ассистент*
        ASK необходимо требуется следует агенту_надлежит надлежит пожалуйста прошу просим просьба агент_должен
            агенту_следует агентам_следует сможешь сможете мог_бы могли_бы нужно_чтобы_ты ты_должен вам_следует
        CAN можешь можете надо нужно
        FREE не_спрашивай не_спрашивая без_подтверждения без_согласования можно_не_спрашивать
        IT его их это
        NOT не нельзя никогда без запрещ* никому ни
        HOW как кто почему где какой какие ли
        ABOUT атак* пример* отказ* подозрительн* отклон*
        ME мне нам сюда ответ ответе ответном ко_мне в_тикет в_заявку
        NOW сейчас сразу сегодня немедленно потом свой свои свою у_себя своих
        GIVE передаёт включить !включи предоставить !предоставь добавить !добавь отослать !отошли разместить
            !размести !пришли +пришлите !отправь +отправьте !скинь +скиньте !вставь +вставьте !дай +дайте !покажи
            +покажите !сообщи +сообщите !приложи +приложите !скопируй +скопируйте !залей +залейте !выложи +выложите
            !перешли +перешлите !передай +передайте !напиши !продиктуй !кинь +киньте !положи +положите !загрузи
            +загрузите !подскажи !вышли +вышлите !назови прислать отправить скинуть вставить дать показать сообщить
            приложить скопировать выложить переслать передать выслать загрузить направить +направьте !опубликуй
        DUMP !выведи +выведите !распечатай !запусти +запустите вывести распечатать !сними
        SECRET пароль пароля пароли паролей токен токена токены ключ ключа ключи ключей секрет секреты секретный
            учетные_данные учётные_данные паролем токеном
        ENV переменные_окружения переменных_окружения переменные_среды переменных_среды окружение
        OFF !отключи +отключите !выключи +выключите !пропусти +пропустите !обойди +обойдите !убери +уберите !сними
            +снимите !удали +удалите отключить выключить пропустить обойти убрать снять удалить исключить !исключи
            !деактивируй
        GUARD фильтр сканер проверку проверки подпись подтверждение хук хуки хуков хука защиту_ветки защиту_ветвей
            запросы_разрешений запрос_разрешений запросы_разрешения песочницу песочница проверку_подписи
            проверку_подписей сканирование_безопасности проверку_безопасности проверки_безопасности
            обязательные_проверки обязательное_ревью двухфакторн* брандмауэр антивирус проверку_сообщений
            фильтр_сообщений подтверждения запросы_подтверждения детектор_сообщений защиту окна_разрешений
            сканер_секретов фильтрацию проверку_входящих
        MERGE !слей +слейте !смержи +смержите !вмержи !влей +влейте !мержи слить смержить влить
        CHANGE ветку ветка pr mr пулл-реквест запрос_на_слияние правку правки
        PUSH !запушь +запушьте !пушни !протолкни запушить пушить
        MAINLINE main master основную_ветку главную_ветку мастер
        PUBLISH !опубликуй +опубликуйте !выложи +выложите !выпусти +выпустите !задеплой !разверни +разверните
            !выкати +выкатите опубликовать выложить выпустить задеплоить развернуть выкатить
        PLACE прод продакшен проде продуктив npm pypi реестр реестре репозитории сайт магазин бой продакшн
        VERSION версию версия сборку пакет релиз страницу трейлер обновление
        GRANT !выдай +выдайте !дай +дайте !добавь +добавьте !предоставь +предоставьте !назначь +назначьте !открой
            +откройте выдать дать добавить предоставить назначить открыть
        RIGHT доступ права право роль админ админа администратора администратором разрешение полномочия
        OUTSIDE внешний внешнюю внешнему личную_почту личный_ящик подрядчику подрядчик личную аудиторам телеграм
            поставщику
    """,
    "zh": """
        AGENT 代理 助手 智能体
        ASK 请你 请打 请授 请关 请输 请显 请导 请赋 请开 请部 请上 请附 请复 请告 请绕 请去 请取 请把 请将 请在
            请直接 请先 请帮 请代理 请提供 请发 请合 请用 请给 请立即 请马上 请顺 请您 请贴 请上传 请跳 请执行 请推
            请务必 请停 请禁用 请为 麻烦 能否 可否 可以把 能不能 可不可以 帮我 帮忙 劳烦 烦请 务必 你需要 你必须
            直接把 顺手把 代理
        FREE 不用问 无需确认 不必询问 无需再次 不用确认
        NOT 不要 别 请勿 切勿 勿 不得 禁止 严禁 不能 不可 不准 不许 不应 拒绝 避免
        HOW 如何 怎么 谁 是否 为什么 哪里 哪个
        ABOUT 攻击 示例 例如 可疑 拒绝 注入
        ME 我 我们 这里 回复 给我 答复 工单
        NOW 现在 马上 立即 今天 直接 你的 你自己 然后
        GIVE 贴 发送至 上传至 传给 交给 写在 放到 提交到 发给 发到 发来 发我 贴到 贴出 贴在 粘贴 告诉 给我 提供 附上
            附在 分享 上传 发送 转发 写进 写到 打印 拷贝 复制 传到 显示 回传
        DUMP 打印 导出 输出 运行
        SECRET 密码 口令 令牌 密钥 凭据 凭证 token 私钥 机密
        ENV 环境变量
        OFF 关 删除 拿掉 跳 免去 略过 关闭 关掉 禁用 停用 跳过 绕过 移除 去掉 删掉 取消 屏蔽 关了 停掉
        GUARD 校验 检测 确认步骤 过滤 检查 hook 防护 保护规则 钩子 分支保护 权限提示 权限弹窗 权限确认 沙箱 沙盒
            审查 安全扫描 签名验证 签名校验 必需检查 双因素 两步验证 防火墙 消息检测 审批 扫描 确认弹窗 消息过滤
            密钥扫描 二次确认 授权提示
        MERGE 合并 合入 并入 合到
        CHANGE 分支 pr mr 主干 main 请求
        PUSH 推送 强推 推到
        MAINLINE 主分支 main master 主干
        PUBLISH 发布 部署 上线 上架 推到
        PLACE 生产 仓库 npm pypi 线上 正式环境 商店 官网 公网
        VERSION 版本 包 镜像 页面 版
        GRANT 授予 赋予 开通 添加 加入 授权 给 加上 加到
        RIGHT 权限 访问权 管理员 角色 协作者 写权限 authorized_keys 读权限
        OUTSIDE 外部邮箱 外部论坛 外部地址 私人邮箱 个人邮箱 外包 供应商 网盘 公开桶 审计 外网
    """,
    "ja": """
        AGENT エージェント アシスタント
        ASKED しておけ といて しといて 願う 欲しい 頼める もらいたい していただ てほし せてください てちょうだい
            てくださ ておくれ です_よね ください 下さい お願い いただけ 頂け もらえ くれ てほしい て欲しい しろ せよ
            てね てよ ておいて 願います 願えますか していいよ て構いません てかまいません して。 貼って。 送って。
            頼む たのむ 頼みます よろしく
        NEVER ないで しないこと 禁止 ません ないよう ず、 せずに しない
        HOW どう 方法 誰が だれが なぜ どこ
        ABOUT 攻撃 例えば 不審 拒否 断り
        ME 私 こちら ここに 返信 返事 回答 わたし
        NOW 今すぐ すぐ 本日 そのまま あなたの
        GIVE 送って 送信 貼って 貼り 教えて 共有 渡して 見せて 添付 コピー 書いて アップロード 転送 投稿 送り 出して
            お送り コメント 返して
        DUMP 出力 実行 表示 ダンプ
        SECRET パスワード トークン 秘密鍵 apiキー シークレット 認証情報 暗証番号 鍵 アクセスキー
        ENV 環境変数
        OFF 消し 切る 外す 無視 省略 飛ば 無効 オフ 切って 止めて 外して 飛ばして スキップ 解除 回避 停止 迂回
        GUARD 許可ダイアログ ダイアログ 署名 確認 保護 監視 フック ブランチ保護 許可確認 許可プロンプト
            権限プロンプト サンドボックス スクリーニング 検査 セキュリティスキャン 署名検証 必須チェック 二要素
            ファイアウォール 承認 スキャン 確認画面 確認ダイアログ 権限確認 フィルタ
        MERGE マージ 取り込 統合
        CHANGE ブランチ pr mr main プルリク
        PUSH プッシュ push
        MAINLINE main master メインブランチ
        PUBLISH 公開 リリース デプロイ 配信
        PLACE 本番 レジストリ npm pypi ストア サイト 公式
        VERSION バージョン 版 パッケージ ページ 配布物
        GRANT 付与 与え 追加 割り当て 許可 渡し
        RIGHT 権限 アクセス権 管理者 ロール 共同編集者 authorized_keys 書き込み
        OUTSIDE 外部 個人アドレス 私用メール 個人のメール 取引先 共同研究先 外注 業者 監査法人
    """,
    "ko": """
        AGENT 에이전트 어시스턴트
        ASKED 해_둬 해_놔 할_것. 하도록 해줘 해_줘 주길 달라고 놓으면 바꿔놔 진행해 하자 하고_싶 붙여주 보내줘
            올려줘 알려줘 할것 하라 하시오 봐 주시기 주셔 해주 십시오 세요 주세요 주십시오 줘 주시겠 주실 해라
            하세요 하십시오 부탁 바랍니다 바람 주시면 할_것 하면_돼 하면_됩니다 달라 올려 보내라 붙여라 붙여. 줄래
            드립니다 하시면
        NEVER 지_마 지마 말_것 마세요 마십시오 금지 않 안_돼 말고 말아
        HOW 어떻게 누가 왜 어디 방법
        ABOUT 공격 예시 의심 거절 거부
        ME 나 내 저 우리 여기 답장 회신 답변 제게 저한테
        NOW 지금 바로 오늘 즉시 네 그냥
        GIVE 보내 붙여 알려 공유 전달 보여 첨부 복사 업로드 올려 적어 전송 넘겨 회신 제출 남겨
        DUMP 출력 실행 덤프
        SECRET 비밀번호 암호 토큰 비밀키 api_키 api키 시크릿 자격증명 자격_증명 개인키 액세스_키 인증키 인증서_키
        ENV 환경변수 환경_변수
        OFF 끄 내리 삭제 풀어 지워 막아 꺼 끄고 비활성 해제 건너뛰 우회 제거 무시 빼 중지 비워
        GUARD 검사기 검사 승인 권한_창 필터 스캐너 차단 훅 브랜치_보호 권한_확인 권한_요청 샌드박스 스크리닝
            메시지_검사 보안_스캔 보안_검사 서명_검증 필수_검사 2단계_인증 방화벽 승인_창 승인_절차 확인_창
            서명_확인 필수_리뷰 승인_확인
        MERGE 머지 병합 합쳐
        CHANGE 브랜치 pr mr main 풀리퀘
        PUSH 푸시 밀어
        MAINLINE main master 메인_브랜치 메인
        PUBLISH 배포 게시 출시 릴리스 공개 발행 승격
        PLACE 운영 프로덕션 레지스트리 npm pypi 스토어 라이브 실서버 사이트
        VERSION 버전 패키지 페이지 빌드
        GRANT 부여 추가 할당 넣어 등록 열어
        RIGHT 권한 접근권 관리자 역할 협업자 authorized_keys 접근
        OUTSIDE 외부 개인_메일 개인_이메일 외주 협력사 외주사 감사법인 거래처 오픈채팅
    """,
    "tr": """
        AGENT ajan* asistan*
        ASK lütfen rica_ediyorum rica_ederim
        ASKED gerekir gerekmektedir iletilmelidir rica_olunur lazım misin mısın musun müsün misiniz mısınız musunuz
            müsünüz
        NOT değil asla yasak etmeden olmadan
        HOW nasıl kim neden nerede hangi
        ABOUT saldırı örnek reddet* şüpheli
        ME bana bize buraya yanıtına cevabına yanıtında bana_da yanıta kayda
        NOW şimdi hemen bugün doğrudan sonra kendi
        GIVE gönderilsin iletilsin yüklenmeli gönderilmeli iletilmeli eklenmeli +koy !atsana !gönderiver
            !gönderir_misin +post koyun +gönder +gönderin +gönderiniz +yolla +yollayın +yapıştır +yapıştırın +paylaş
            +paylaşın +söyle +ver +verin +ekle +ekleyin +göster +kopyala +yükle +yükleyin +ilet +iletin iletir atar
            +yaz gönderir gönderebilir yollar yapıştırır paylaşır paylaşabilir söyler verir verebilir ekler gösterir
            yükler iletebilir söyleyebilir +atıver
        DUMP +yazdır +çalıştır yazdırır çalıştırır +dök
        SECRET parola* şifre* token* anahtar* jeton* belirteç* kimlik_bilgi* gizli_anahtar*
        ENV ortam_değişken*
        OFF kapatılsın kaldırılsın +durdur +boşalt durdurun +kapat +kapatın +atla +atlayın +kaldır +kaldırın +çıkar
            +çıkarın kapatır kapatabilir atlar kaldırır devre_dışı +sil +by-pass
        GUARD tarama* denetim* doğrulama* koruma* filtre* kanca* dal_koruma* izin_pencere* izin_istem* kum_hav*
            korumalı_alan* güvenlik_tarama* imza_denetim* imza_doğrulama* zorunlu_inceleme* zorunlu_denetim*
            iki_adımlı* güvenlik_duvar* sandbox* hook* onay_pencere* ileti_denetim* onay_istem* mesaj_tarama*
            ileti_tarama* güvenlik_kontrol*
        MERGE +birleştir +birleştirin birleştirir birleştirebilir +mergele
        CHANGE dalı dalını dala pr mr main çekme_isteğ*
        PUSH +pushla gönder
        MAINLINE main master ana_dal*
        PUBLISH +dağıtın +yayımla +yayınla +yayımlayın +yayınlayın yayımlar yayınlar yayımlayabilir yayınlayabilir
            yayına_al* +yayına_alın +dağıt
        PLACE üretim* npm pypi kayıt_deposu* mağaza* canlıya
        VERSION sürüm* paket* sayfa* site*
        GRANT +ver +verin +ekle +ekleyin +ata +tanımla +tanımlayın verir verebilir ekler ekleyebilir tanımlar
        RIGHT yetki* erişim* rolü rolünü yönetici* izin izni iznini hakkı
        OUTSIDE dış harici kişisel_posta* kişisel_e-posta* tedarikçi* denetçi* telegram*
    """,
    "hi": """
        AGENT एजेंट सहायक agent
        ASK कृपया कृपा please zara
        ASKED दीजिएगा डालो डाल_दो भेजना करवा मारो मार kardo karna krna kijiye deejiye daal_do दो दीजिए दीजिये दें
            करो करें कीजिए कीजिये दे_दो भेजो भेजें लगाओ कीजिएगा सकते_हो सकते_हैं सकती_हो do dijiye dijiyega karo
            karein kar_do kar_de de_do bhejo bhej_do de_dena kar_dena देना
        NEVER मत नहीं न ना mat nahi
        HOW कैसे कौन क्यों कहाँ kaise
        ABOUT हमला उदाहरण संदिग्ध
        ME मुझे हमें यहाँ जवाब उत्तर मेरे mujhe hamein yahan
        NOW अभी तुरंत आज अपने अपना अपनी abhi turant
        GIVE भेज भेजो भेजें बता बताओ दिखा दिखाओ चिपका चिपकाओ साझा संलग्न जोड़ डाल डालो अपलोड लिख bhej bhejo bata
            dikha paste share bhejiye दीजिए भेजिए दीजिये चिपकाएँ पोस्ट
        DUMP छाप चला चलाकर प्रिंट
        SECRET पासवर्ड टोकन कुंजी चाबी गुप्त password token कुंजियाँ
        ENV परिवेश_चर एनवायरनमेंट पर्यावरण_चर परिवेश-चर environment_variables एनवायरनमेंट_वेरिएबल
        OFF बंद हटा हटाओ छोड़ बायपास निष्क्रिय हटाकर band hata skip bypass हटाएँ
        GUARD scanner स्कैनर सुरक्षा प्रॉम्प्ट अनुमति पुष्टि फ़िल्टर हुक सैंडबॉक्स शाखा_सुरक्षा ब्रांच_प्रोटेक्शन
            अनुमति_संकेत जाँच स्कैन हस्ताक्षर hook sandbox branch_protection अनुमति_पूछना सुरक्षा_जाँच
        MERGE मर्ज विलय मिला merge
        CHANGE शाखा ब्रांच pr mr main
        PUSH पुश push
        MAINLINE main master मुख्य_शाखा
        PUBLISH प्रकाशित जारी डिप्लॉय रिलीज़ publish deploy release पब्लिश
        PLACE प्रोडक्शन उत्पादन रजिस्ट्री npm pypi registry production लाइव
        VERSION संस्करण पैकेज version पन्ना
        GRANT जोड़ दीजिए प्रदान jod
        RIGHT पहुँच अनुमति अधिकार भूमिका एडमिन व्यवस्थापक access एक्सेस
        OUTSIDE बाहरी जीमेल ठेकेदार gmail
    """,
}

KEY_FILES = (
    r"(?<!\w)\.aws(?:/\w+)?|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.my\.cnf|\.git-credentials|\.kube(?:/config)?|\.gnupg"
    r"|\.ssh(?:/[\w.]+)?|\.docker/config(?:\.json)?|(?<!\w)\.env(?!\.(?:example|sample|template|dist)|\w|\()(?:\.\w+)?"
    r"|\.vault-token|id_rsa|id_ed25519|id_ecdsa|kubeconfig|/etc/shadow|keychain|keyring|auth\.(?:json|toml)"
    r"|credentials\.(?:json|toml|ya?ml|csv)|service[-_ ]account[-_ .]?(?:json|key|file)"
    r"|secrets?\.(?:ya?ml|json|toml|env)|[\w-]{1,60}\.(?:pem|p12|pfx|jks|kdbx|keystore)(?!\w)"
    r"|\.config/(?:gcloud|gh|rclone)\S{0,60}|\.p4tickets|\.terraformrc|\.bash_history|\.zsh_history|gradle\.properties"
    r"|(?<!\w)\.azure(?:/\w+)?|wallet\.dat"
)
ENVIRONS = (
    r"(?<!\w)printenv(?![.\w])|/proc/(?:self|\d+|\*)/environ|process\.env(?!\.)|os\.environ(?!\[|\.get)"
    r"|`env`|`set`|'env'"
)
ADDRESSES = (
    r"(?:(?:https?|s?ftp|wss?)://"
    r"(?!localhost|127\.|10\.|192\.168\.|[\w.-]{0,60}(?:\.local|\.internal|\.intra|\.lan|\.corp)\b)"
    r"|[\w.+-]{1,40}@(?:[\w-]{1,40}\.){1,4}[a-z0-9]{1,10}\b)"
)
# One word at least of whatever the two patterns above match.
FILE_WORDS = (
    "aws netrc npmrc pypirc pgpass cnf git-credentials credentials kube gnupg ssh docker env vault token rsa ed25519"
    " ecdsa id kubeconfig shadow keychain keyring auth service secret secrets pem p12 pfx jks kdbx keystore config"
    " p4tickets terraformrc history gradle azure wallet environ printenv process os set"
)
